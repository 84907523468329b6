// Package profile says where a gateway's time goes: it builds Genway's commands with a
// file more that profiles them on a signal, and folds what they report into stages of
// a request. The commands of a release have no such file.
package profile
