package drawing

import (
	"slices"
	"strings"
	"unicode"
)

// theme is what is read out of a prompt. Words that are not in the tables leave the
// decision to the prompt's hash.
type theme struct {
	colours []colour // in order, without repetition
	figures []figure
	view    view
	when    hour
}

// figure is a geometric shape the prompt asks for; coloured is whether it says which
// colour.
type figure struct {
	outline  outline
	colour   colour
	coloured bool
	count    int
}

// view is a kind of scene.
type view int

const (
	anyView view = iota
	hills
	mountains
	sea
	dunes
	forest
	city
	space
)

const lastView = space

var colourWords = map[string]colour{
	"red": {220, 38, 38}, "crimson": {190, 18, 60}, "scarlet": {225, 40, 20}, "maroon": {128, 20, 30}, "ruby": {200, 20, 70},
	"orange": {245, 130, 32}, "amber": {250, 170, 20}, "coral": {250, 115, 95}, "peach": {255, 190, 150}, "copper": {184, 115, 51},
	"yellow": {250, 204, 21}, "gold": {218, 165, 32}, "golden": {218, 165, 32}, "lemon": {250, 230, 60}, "cream": {250, 240, 210},
	"green": {34, 160, 70}, "lime": {132, 204, 22}, "olive": {120, 125, 30}, "emerald": {16, 170, 110}, "mint": {150, 225, 190}, "jade": {0, 150, 105},
	"teal": {13, 140, 140}, "turquoise": {45, 200, 195}, "cyan": {20, 190, 215}, "aqua": {60, 205, 215},
	"blue": {37, 99, 235}, "navy": {25, 40, 100}, "azure": {50, 140, 240}, "indigo": {75, 60, 190}, "cobalt": {0, 71, 171}, "sapphire": {15, 82, 186},
	"purple": {140, 60, 200}, "violet": {125, 60, 220}, "lavender": {180, 160, 230}, "lilac": {200, 162, 210}, "plum": {130, 50, 110},
	"pink": {240, 100, 165}, "magenta": {215, 40, 180}, "rose": {240, 80, 120}, "salmon": {250, 130, 115},
	"brown": {130, 80, 45}, "chocolate": {95, 55, 30}, "tan": {205, 170, 125}, "beige": {230, 215, 185}, "bronze": {170, 115, 50},
	"black": {28, 28, 32}, "white": {248, 248, 248}, "gray": {130, 134, 140}, "grey": {130, 134, 140}, "silver": {185, 190, 198},
	"rojo": {220, 38, 38}, "roja": {220, 38, 38}, "rouge": {220, 38, 38}, "rot": {220, 38, 38}, "rote": {220, 38, 38}, "rosso": {220, 38, 38},
	"azul": {37, 99, 235}, "bleu": {37, 99, 235}, "bleue": {37, 99, 235}, "blau": {37, 99, 235}, "blaue": {37, 99, 235},
	"verde": {34, 160, 70}, "vert": {34, 160, 70}, "verte": {34, 160, 70}, "grün": {34, 160, 70}, "grüne": {34, 160, 70},
	"amarillo": {250, 204, 21}, "jaune": {250, 204, 21}, "gelb": {250, 204, 21}, "gelbe": {250, 204, 21},
}

// hanColours are looked for as characters, since these scripts have no spaces.
var hanColours = map[rune]colour{
	'红': {220, 38, 38}, '紅': {220, 38, 38}, '赤': {220, 38, 38}, '橙': {245, 130, 32}, '黄': {250, 204, 21}, '黃': {250, 204, 21},
	'绿': {34, 160, 70}, '緑': {34, 160, 70}, '綠': {34, 160, 70}, '蓝': {37, 99, 235}, '藍': {37, 99, 235}, '青': {37, 99, 235},
	'紫': {140, 60, 200}, '粉': {240, 100, 165}, '黑': {28, 28, 32}, '黒': {28, 28, 32}, '白': {248, 248, 248}, '灰': {130, 134, 140},
}

var outlineWords = map[string]outline{
	"square": square, "cube": square, "box": square, "rectangle": rectangle, "circle": circle, "ball": circle, "sphere": circle,
	"dot": circle, "disc": circle, "disk": circle, "oval": oval, "ellipse": oval, "triangle": triangle, "pyramid": triangle,
	"pentagon": pentagon, "hexagon": hexagon, "octagon": octagon, "star": star, "heart": heart, "diamond": diamond,
	"rhombus": diamond, "cross": cross, "plus": cross, "ring": ring, "donut": ring, "torus": ring, "arrow": arrow,
}

var viewWords = map[string]view{
	"hill": hills, "meadow": hills, "field": hills, "countryside": hills, "valley": hills, "garden": hills, "farm": hills,
	"mountain": mountains, "alps": mountains, "peak": mountains, "volcano": mountains, "snow": mountains, "cliff": mountains, "dragon": mountains,
	"sea": sea, "ocean": sea, "beach": sea, "lake": sea, "river": sea, "water": sea, "island": sea, "boat": sea, "ship": sea, "fish": sea, "whale": sea, "wave": sea, "otter": sea,
	"desert": dunes, "dune": dunes, "sand": dunes, "camel": dunes, "mars": dunes, "pyramids": dunes,
	"forest": forest, "tree": forest, "wood": forest, "jungle": forest, "fox": forest, "bear": forest, "deer": forest, "owl": forest,
	"city": city, "skyline": city, "town": city, "street": city, "building": city, "skyscraper": city, "robot": city, "cyberpunk": city, "office": city, "car": city,
	"space": space, "galaxy": space, "planet": space, "astronaut": space, "rocket": space, "universe": space, "nebula": space, "alien": space, "spaceship": space, "cosmos": space,
}

var hourWords = map[string]hour{
	"day": day, "sunny": day, "noon": day, "morning": day, "bright": day, "snow": day, "summer": day, "spring": day,
	"sunset": dusk, "sunrise": dusk, "dusk": dusk, "dawn": dusk, "evening": dusk, "twilight": dusk, "autumn": dusk, "warm": dusk,
	"night": night, "midnight": night, "moon": night, "dark": night, "starry": night, "neon": night, "cyberpunk": night, "space": night, "galaxy": night, "cosmos": night, "nebula": night,
}

var countWords = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9, "10": 10, "couple": 2, "pair": 2, "dozen": 12,
}

// mostFigures is how many shapes one drawing has room for.
const mostFigures = 12

// read finds the words of the tables in a prompt. A colour and a count belong to the
// next shape: "a red square and two blue circles".
func read(prompt string) theme {
	var t theme
	var next *colour
	count, total := 1, 0
	see := func(c colour) {
		if !slices.Contains(t.colours, c) {
			t.colours = append(t.colours, c)
		}
	}
	words := strings.FieldsFunc(strings.ToLower(prompt), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range words {
		single := singular(word)
		if c, ok := colourWords[word]; ok {
			see(c)
			next = &c
		}
		if n, ok := countWords[word]; ok {
			count = n
		}
		if o, ok := outlineWords[single]; ok && total < mostFigures {
			f := figure{outline: o, count: min(count, mostFigures-total)}
			if next != nil {
				f.colour, f.coloured = *next, true
			}
			t.figures = append(t.figures, f)
			total += f.count
			next, count = nil, 1
		}
		if v, ok := viewWords[single]; ok && t.view == anyView {
			t.view = v
		}
		if h, ok := hourWords[single]; ok && t.when == anyHour {
			t.when = h
		}
		for _, r := range word {
			if c, ok := hanColours[r]; ok {
				see(c)
			}
		}
	}
	return t
}

func singular(word string) string {
	for _, table := range []func(string) bool{
		func(w string) bool { _, ok := outlineWords[w]; return ok },
		func(w string) bool { _, ok := viewWords[w]; return ok },
		func(w string) bool { _, ok := hourWords[w]; return ok },
	} {
		for _, form := range []string{word, strings.TrimSuffix(word, "s"), strings.TrimSuffix(word, "es")} {
			if table(form) {
				return form
			}
		}
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		return stem + "y"
	}
	return word
}
