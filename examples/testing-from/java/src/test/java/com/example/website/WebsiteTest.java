package com.example.website;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(PlaneExtension.class)
class WebsiteTest {
  static WebsiteOperator operator;
  KubernetesClient client;
  String namespace;

  @BeforeAll
  static void start(KubernetesClient client) {
    operator = new WebsiteOperator(client);
  }

  @AfterAll
  static void stop() {
    operator.close();
  }

  @BeforeEach
  void createNamespace(KubernetesClient client) {
    this.client = client;
    namespace = client.resource(new NamespaceBuilder().withNewMetadata().withGenerateName("test-").endMetadata().build())
        .create().getMetadata().getName();
  }

  @AfterEach
  void deleteNamespace() {
    client.namespaces().withName(namespace).delete();
  }

  Website newSite(String image, int replicas) {
    Website site = new Website();
    site.getMetadata().setName("shop");
    site.getMetadata().setNamespace(namespace);
    site.setSpec(new Website.Spec());
    site.getSpec().image = image;
    site.getSpec().replicas = replicas;
    return site;
  }

  @Test
  void websiteSaysHowManyPodsAreReady() {
    client.resource(newSite("shop:1", 2)).create();

    client.resources(Website.class).inNamespace(namespace).withName("shop")
        .waitUntilCondition(site -> site != null && site.getStatus() != null && site.getStatus().ready == 2, 10, SECONDS);
  }

  @Test
  void deploymentThatSomebodyDeletesIsBack() {
    client.resource(newSite("shop:1", 1)).create();
    var deployment = client.resources(Deployment.class).inNamespace(namespace).withName("shop");
    String uid = deployment.waitUntilCondition(found -> found != null, 10, SECONDS).getMetadata().getUid();
    deployment.delete();

    deployment.waitUntilCondition(found -> found != null && !found.getMetadata().getUid().equals(uid), 10, SECONDS);
  }

  @Test
  void podWhoseImageIsMissingIsWaiting() {
    client.resource(newSite("shop:broken", 1)).create();

    client.resources(Pod.class).inNamespace(namespace).withLabel("website", "shop").waitUntilCondition(
        pod -> pod != null && pod.getStatus().getContainerStatuses().stream()
            .anyMatch(each -> each.getState().getWaiting() != null && each.getState().getWaiting().getReason().equals("ErrImagePull")),
        10, SECONDS);
  }

  @Test
  void negativeReplicasAreRefused() {
    var refusal = assertThrows(KubernetesClientException.class, () -> client.resource(newSite("shop:1", -1)).create());

    assertEquals(422, refusal.getCode());
  }
}
