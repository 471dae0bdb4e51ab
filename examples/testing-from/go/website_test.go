package website

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newNamespace returns a namespace that is deleted with its objects at the end of the test.
func newNamespace(t *testing.T) string {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := api.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(context.Background(), namespace) })
	return namespace.Name
}

func newSite(t *testing.T, replicas int32) *Website {
	return &Website{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: newNamespace(t)},
		Spec:       Spec{Image: "shop:1", Replicas: &replicas},
	}
}

// eventually reads an object until a condition holds.
func eventually(t *testing.T, object client.Object, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if err == nil && holds() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not so after 10 s: %+v, %v", object, err)
		}
	}
}

func TestWebsiteSaysHowManyPodsAreReady(t *testing.T) {
	t.Parallel()
	site := newSite(t, 2)
	if err := api.Create(t.Context(), site); err != nil {
		t.Fatal(err)
	}

	eventually(t, site, func() bool { return site.Status.Ready == 2 })
}

func TestDeploymentThatSomebodyDeletesIsBack(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1)
	if err := api.Create(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: site.ObjectMeta}
	eventually(t, deployment, func() bool { return true })
	first := deployment.UID
	if err := api.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}

	eventually(t, deployment, func() bool { return deployment.UID != first })
}

func TestNegativeReplicasAreRefused(t *testing.T) {
	t.Parallel()
	if err := api.Create(t.Context(), newSite(t, -1)); !errors.IsInvalid(err) {
		t.Fatalf("want Invalid, got %v", err)
	}
}
