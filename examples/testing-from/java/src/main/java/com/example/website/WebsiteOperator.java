package com.example.website;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** A small operator: each Website has a Deployment, and says how many of its pods are ready. */
public final class WebsiteOperator implements AutoCloseable {
  private final KubernetesClient client;
  private final ScheduledExecutorService worker = Executors.newSingleThreadScheduledExecutor();
  private final List<SharedIndexInformer<?>> informers;

  public WebsiteOperator(KubernetesClient client) {
    this.client = client;
    this.informers = List.of(
        client.resources(Website.class).inAnyNamespace().inform(new Enqueue<>()),
        client.resources(Deployment.class).inAnyNamespace().withLabel("website").inform(new Enqueue<>()));
  }

  /** A website and its deployment have one name, so the events of either lead to it. */
  private final class Enqueue<T extends HasMetadata> implements ResourceEventHandler<T> {
    @Override
    public void onAdd(T object) {
      enqueue(object, 0);
    }

    @Override
    public void onUpdate(T old, T object) {
      enqueue(object, 0);
    }

    @Override
    public void onDelete(T object, boolean isStateUnknown) {
      enqueue(object, 0);
    }
  }

  private void enqueue(HasMetadata object, int seconds) {
    worker.schedule(() -> {
      try {
        reconcile(object.getMetadata().getNamespace(), object.getMetadata().getName());
      } catch (RuntimeException failed) {
        enqueue(object, 1);
      }
    }, seconds, SECONDS);
  }

  private void reconcile(String namespace, String name) {
    Website site = client.resources(Website.class).inNamespace(namespace).withName(name).get();
    if (site == null || site.isMarkedForDeletion()) return;
    Map<String, String> labels = Map.of("website", name);
    Deployment deployment = client.resource(new DeploymentBuilder()
        .withNewMetadata().withName(name).withNamespace(namespace).withLabels(labels)
        .addNewOwnerReference().withApiVersion(site.getApiVersion()).withKind(site.getKind()).withName(name)
        .withUid(site.getMetadata().getUid()).withController(true).endOwnerReference().endMetadata()
        .withNewSpec().withReplicas(site.getSpec().replicas).withNewSelector().withMatchLabels(labels).endSelector()
        .withNewTemplate().withNewMetadata().withLabels(labels).endMetadata()
        .withNewSpec().addNewContainer().withName("web").withImage(site.getSpec().image).endContainer().endSpec()
        .endTemplate().endSpec().build()).forceConflicts().serverSideApply();

    Integer ready = deployment.getStatus() == null ? null : deployment.getStatus().getReadyReplicas();
    Website.Status status = new Website.Status();
    status.ready = ready == null ? 0 : ready;
    if (site.getStatus() != null && site.getStatus().ready == status.ready) return;
    site.setStatus(status);
    client.resource(site).updateStatus();
  }

  @Override
  public void close() {
    informers.forEach(SharedIndexInformer::stop);
    worker.shutdownNow();
  }
}
