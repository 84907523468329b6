// Command kubernetes is the control plane of a Kubernetes cluster in one program: its commands are
// kube-apiserver, kube-controller-manager and kube-scheduler, with their own flags. deploy/scripts/chart-e2e
// installs the chart by it where no cluster is at hand. It has no kubelet, so that no pod runs.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	// Only the command that is asked for is made: that of the API server takes the process's signals, which
	// a process can do once, and the scheduler takes them as well.
	var command *cobra.Command
	switch program := append(os.Args, "")[1]; program {
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	default:
		fmt.Fprintf(os.Stderr, "kubernetes: %q is none of kube-apiserver, kube-controller-manager and kube-scheduler\n", program)
		os.Exit(2)
	}
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
