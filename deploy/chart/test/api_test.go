package chart

import (
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// objects are the objects of a set of values, decoded strictly: a member that the API does not have,
// and one that is there twice, is an error.
func objects(t *testing.T, file string) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, monitoringv1.AddToScheme, gatewayv1.Install,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents, err := render(t, read(t, file))
	if err != nil {
		t.Fatal(err)
	}
	var list []runtime.Object
	for _, document := range documents {
		object, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Errorf("%v in:\n%s", err, document)
			continue
		}
		list = append(list, object)
	}
	return list
}

// podOf returns the template of the pods that an object makes.
func podOf(object runtime.Object) *corev1.PodTemplateSpec {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	}
	return nil
}

// All pods are within the restricted Pod Security Standard, and have what values.pod says.
func TestPods(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range sets(t) {
		t.Run(name, func(t *testing.T) {
			pods := 0
			for _, object := range objects(t, file) {
				pod := podOf(object)
				if pod == nil {
					continue
				}
				pods++
				restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
				for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
					if !result.Allowed {
						t.Errorf("%s: %s %s", object.GetObjectKind().GroupVersionKind().Kind, result.ForbiddenReason, result.ForbiddenDetail)
					}
				}
				mounted(t, pod)
				if name == "placed" {
					placed(t, pod)
				}
			}
			if pods == 0 {
				t.Error("there are no pods")
			}
		})
	}
}

// mounted fails the test if a container mounts a volume that the pod does not have.
func mounted(t *testing.T, pod *corev1.PodTemplateSpec) {
	t.Helper()
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, mount := range c.VolumeMounts {
			if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
				t.Errorf("%s mounts %s, which the pod does not have", c.Name, mount.Name)
			}
		}
		names := map[string]bool{}
		for _, e := range c.Env {
			if names[e.Name] {
				t.Errorf("%s has %s twice", c.Name, e.Name)
			}
			names[e.Name] = true
		}
	}
}

// placed fails the test if a pod lacks what testdata/placed.yaml says of every pod.
func placed(t *testing.T, pod *corev1.PodTemplateSpec) {
	t.Helper()
	spec := pod.Spec
	if len(spec.ImagePullSecrets) != 1 || spec.NodeSelector["kubernetes.io/arch"] != "arm64" || len(spec.Tolerations) != 1 || spec.Affinity == nil ||
		spec.PriorityClassName != "high" || pod.Annotations["example.com/scrape"] != "false" || pod.Labels["team"] != "platform" || *spec.SecurityContext.RunAsUser != 1000 {
		t.Errorf("it lacks what is said of every pod: %+v %+v", pod.ObjectMeta, spec)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		key := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "OPENAI_API_KEY" })
		mount := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/ssl/extra" })
		if !key || len(c.EnvFrom) != 1 || !mount || !strings.HasPrefix(c.Image, "registry.example/mirror/genway") {
			t.Errorf("container %s lacks what is said of every pod: %+v", c.Name, c)
		}
	}
}

// What selects pods selects those that it is for.
func TestSelectors(t *testing.T) {
	for name, file := range sets(t) {
		t.Run(name, func(t *testing.T) {
			list := objects(t, file)
			var pods []labels.Set
			for _, object := range list {
				if pod := podOf(object); pod != nil {
					pods = append(pods, pod.Labels)
				}
			}
			for _, object := range list {
				var selector *metav1.LabelSelector
				switch o := object.(type) {
				case *appsv1.Deployment:
					selector = o.Spec.Selector
				case *corev1.Service:
					selector = metav1.SetAsLabelSelector(o.Spec.Selector)
				case *policyv1.PodDisruptionBudget:
					selector = o.Spec.Selector
				case *networkingv1.NetworkPolicy:
					selector = &o.Spec.PodSelector
				default:
					continue
				}
				by, err := metav1.LabelSelectorAsSelector(selector)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(slices.DeleteFunc(slices.Clone(pods), func(s labels.Set) bool { return !by.Matches(s) })); n != 1 {
					t.Errorf("%T selects the pods of %d of %d", object, n, len(pods))
				}
			}
		})
	}
}
