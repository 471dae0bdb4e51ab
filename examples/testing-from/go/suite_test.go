package website

import (
	"context"
	"log"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// api is the client of all tests.
var api client.Client

func TestMain(m *testing.M) {
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../websites.yaml"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	must(err)
	must(AddToScheme(scheme.Scheme))
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	must(err)
	api = manager.GetClient()
	must((&Reconciler{api}).SetupWithManager(manager))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	code := m.Run()
	stop()
	must(<-ended)
	must(environment.Stop())
	os.Exit(code)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
