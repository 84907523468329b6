// Package console opens the console of a real server in a real Chromium: the journey from the first
// start to a limit that refuses, by mouse and by keyboard, and each page held to axe-core's rules.
package console
