package chart

import (
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// version renders a template of a version of the chart.
func version(t *testing.T, number, template string, values map[string]any) string {
	t.Helper()
	c := load(t)
	c.Metadata.Version = number
	rendering, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "genway", Namespace: "models"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, rendering)
	if err != nil {
		t.Fatal(err)
	}
	return files["genway/templates/"+template]
}

// Kubernetes refuses an update of a job whose pod is another, so that a job of another pod has another
// name: after an upgrade of the chart alone, and for each value that changes the pod.
func TestU40Jobs(t *testing.T) {
	job := func(number string, values map[string]any) (name, pod string) {
		var j batchv1.Job
		if err := yaml.UnmarshalStrict([]byte(version(t, number, "migrate.yaml", values)), &j); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(j.Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		return j.Name, string(text)
	}
	values := func(more map[string]any) map[string]any {
		all := map[string]any{"store": map[string]any{"url": "postgres://genway@db/genway"}}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	was, before := job("1.0.0", values(nil))
	if again, _ := job("1.0.0", values(nil)); again != was {
		t.Errorf("%s and %s of the same values", was, again)
	}
	if other, _ := job("1.0.0", values(map[string]any{"core": map[string]any{"replicas": 5}})); other != was {
		t.Errorf("%s and %s, though the migration's pod is the same", was, other)
	}
	for what, c := range map[string]struct {
		number string
		values map[string]any
	}{
		"chart":           {"1.0.1", values(nil)},
		"tag":             {"1.0.0", values(map[string]any{"images": map[string]any{"tag": "v2"}})},
		"labels":          {"1.0.0", values(map[string]any{"pod": map[string]any{"labels": map[string]any{"team": "models"}}})},
		"resources":       {"1.0.0", values(map[string]any{"migrate": map[string]any{"resources": map[string]any{}}})},
		"service account": {"1.0.0", values(map[string]any{"serviceAccount": map[string]any{"name": "another"}})},
		"secret":          {"1.0.0", values(map[string]any{"store": map[string]any{"existingSecret": map[string]any{"name": "another"}}})},
	} {
		now, after := job(c.number, c.values)
		if after != before && now == was {
			t.Errorf("%s: the job %s has another pod and the same name:\n%s\n%s", what, now, before, after)
		}
	}
}

// The pod that makes a key, of the notes, is within the restricted Pod Security Standard, and has the
// pull secrets and the place of all pods.
func TestU41Notes(t *testing.T) {
	notes := version(t, "1.0.0", "NOTES.txt", map[string]any{
		"store": map[string]any{"url": "postgres://genway@db/genway"},
		"pod": map[string]any{
			"imagePullSecrets": []any{map[string]any{"name": "registry"}}, "nodeSelector": map[string]any{"disk": "fast"},
			"tolerations": []any{map[string]any{"key": "models", "operator": "Exists"}},
		},
	})
	_, rest, _ := strings.Cut(notes, "--overrides '")
	text, _, found := strings.Cut(rest, "'\n")
	var pod corev1.Pod
	if err := json.Unmarshal([]byte(text), &pod); !found || err != nil {
		t.Fatalf("%v in:\n%s", err, notes)
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	if len(pod.Spec.ImagePullSecrets) != 1 || pod.Spec.NodeSelector["disk"] != "fast" || len(pod.Spec.Tolerations) != 1 {
		t.Errorf("it has not the settings of all pods: %+v", pod.Spec)
	}
}

// Kubernetes ends an old core once a new one has been available. Edges send calls to a new core when they have
// looked its name up, every 5 s and from caches of DNS that keep an answer for 5 s, and no longer to one that
// ends: a new core is there for longer than both before an old one ends, so that an edge always knows a core.
func TestU42EdgesKnowNewCores(t *testing.T) {
	deployment := func(template string, values map[string]any) appsv1.Deployment {
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict([]byte(version(t, "1.0.0", template, values)), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	store := map[string]any{"url": "postgres://genway@db/genway"}
	if got := deployment("core.yaml", map[string]any{"store": store}).Spec.MinReadySeconds; got < 12 {
		t.Errorf("a new core is ready for %d s before an old one ends", got)
	}
	if got := deployment("core.yaml", map[string]any{"store": store, "core": map[string]any{"minReadySeconds": 40}}).Spec.MinReadySeconds; got != 40 {
		t.Errorf("the value is 40, the deployment has %d", got)
	}
	// Callers reach a process of mode single, and an edge, by a service, which takes no time to know it.
	if got := deployment("core.yaml", map[string]any{"store": store, "mode": "single"}).Spec.MinReadySeconds; got != 0 {
		t.Errorf("mode single waits for %d s", got)
	}
}
