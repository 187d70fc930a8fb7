// Command load is both ends of the bench: `load upstream` answers as a model server does, `load drive` sends requests
// and measures their answers, `load flood` sends as many as it can.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say `load upstream`, `load drive` or `load flood`"))
	}
	var err error
	switch os.Args[1] {
	case "upstream":
		err = upstream(os.Args[2:])
	case "drive":
		err = drive(os.Args[2:])
	case "flood":
		err = flood(os.Args[2:])
	default:
		err = fmt.Errorf("there is no command %q: say `load upstream`, `load drive` or `load flood`", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
