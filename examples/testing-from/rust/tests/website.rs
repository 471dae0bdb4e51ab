mod plane;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Namespace, Pod};
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::runtime::wait::{Condition, await_condition};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use plane::Plane;
use std::{pin::pin, time::Duration};
use website::{Website, WebsiteSpec, run};

/// Runs a test in a namespace of its own, beside an operator for it.
async fn with_operator<F: Future>(test: impl FnOnce(Client, String) -> F) {
    let plane = Plane::shared();
    let client = plane.client().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let metadata = ObjectMeta {
        generate_name: Some("test-".into()),
        ..Default::default()
    };
    let namespace = Namespace {
        metadata,
        ..Default::default()
    };
    let name = namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap()
        .name_any();
    tokio::select! {
        _ = run(client.clone(), &name) => unreachable!("the operator ended"),
        _ = test(client, name.clone()) => {}
    }
    namespaces
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
}

async fn create(
    client: &Client,
    namespace: &str,
    image: &str,
    replicas: i32,
) -> kube::Result<Website> {
    let site = Website::new(
        "shop",
        WebsiteSpec {
            image: image.into(),
            replicas: Some(replicas),
        },
    );
    Api::namespaced(client.clone(), namespace)
        .create(&PostParams::default(), &site)
        .await
}

/// Watches an object until a condition holds.
async fn eventually<K>(api: Api<K>, condition: impl Condition<K>) -> K
where
    K: kube::Resource + Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + 'static,
{
    let waiting = await_condition(api, "shop", condition);
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .expect("not so after 10 s")
        .unwrap()
        .unwrap()
}

fn is_waiting(pod: &Pod, reason: &str) -> bool {
    let containers = pod
        .status
        .iter()
        .flat_map(|status| status.container_statuses.iter().flatten());
    let waiting = |each: &ContainerStatus| each.state.as_ref()?.waiting.as_ref()?.reason.clone();
    containers.filter_map(waiting).any(|found| found == reason)
}

#[tokio::test]
async fn a_website_says_how_many_pods_are_ready() {
    with_operator(|client, namespace| async move {
        create(&client, &namespace, "shop:1", 2).await.unwrap();

        let websites = Api::namespaced(client, &namespace);
        eventually(websites, |site: Option<&Website>| {
            site.and_then(|site| site.status.as_ref())
                .is_some_and(|status| status.ready == 2)
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_deployment_that_somebody_deletes_is_back() {
    with_operator(|client, namespace| async move {
        create(&client, &namespace, "shop:1", 1).await.unwrap();
        let deployments: Api<Deployment> = Api::namespaced(client, &namespace);
        let first = eventually(deployments.clone(), |found: Option<&Deployment>| {
            found.is_some()
        })
        .await
        .uid();
        deployments
            .delete("shop", &DeleteParams::default())
            .await
            .unwrap();

        eventually(deployments, |found: Option<&Deployment>| {
            found.is_some_and(|found| found.uid() != first)
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_pod_whose_image_is_missing_waits() {
    with_operator(|client, namespace| async move {
        create(&client, &namespace, "shop:broken", 1).await.unwrap();

        let mut pods = pin!(
            watcher(
                Api::<Pod>::namespaced(client, &namespace),
                Default::default()
            )
            .applied_objects()
        );
        while !is_waiting(&pods.next().await.unwrap().unwrap(), "ErrImagePull") {}
    })
    .await;
}

#[tokio::test]
async fn negative_replicas_are_refused() {
    with_operator(|client, namespace| async move {
        let refusal = create(&client, &namespace, "shop:1", -1).await.unwrap_err();

        assert!(matches!(refusal, kube::Error::Api(status) if status.code == 422));
    })
    .await;
}
