package member

import "strconv"

// Within is the path of an element of a list in what base names, in one piece of memory:
// Within("messages[2]", ".parts", 0) is messages[2].parts[0].
func Within(base, list string, i int) string {
	return base + list + "[" + strconv.Itoa(i) + "]"
}
