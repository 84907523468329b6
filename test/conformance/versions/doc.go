// Package versions runs edges and cores of two versions together: this one, and that of the
// programs in the folder GENWAY_OTHER_BIN, which `make versions OTHER=REF` builds from another
// commit. Without the folder both are of this version.
package versions
