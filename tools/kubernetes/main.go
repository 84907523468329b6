// Command kubernetes is the control plane of a Kubernetes cluster in one program: its commands are
// kube-apiserver, kube-controller-manager and kube-scheduler, with their own flags. scripts/chart-e2e
// installs the chart by it where no cluster is at hand. It has no kubelet, so that no pod runs.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	root := &cobra.Command{Use: "kubernetes"}
	root.AddCommand(apiserver.NewAPIServerCommand(), controllers.NewControllerManagerCommand(), scheduler.NewSchedulerCommand())
	os.Exit(cli.Run(root))
}
