// Package layers checks layers.txt: which folder of the repository may import which. It is a test only.
package layers
