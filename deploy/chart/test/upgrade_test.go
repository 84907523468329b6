package chart

import (
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
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
