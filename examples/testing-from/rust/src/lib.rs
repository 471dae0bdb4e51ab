//! A small operator: each Website has a Deployment, and says how many of its pods are ready.

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Client, CustomResource, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{sync::Arc, time::Duration};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Website",
    namespaced,
    status = "WebsiteStatus",
    schema = "disabled"
)]
pub struct WebsiteSpec {
    pub image: String,
    pub replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct WebsiteStatus {
    pub ready: i32,
}

async fn reconcile(site: Arc<Website>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let (name, namespace) = (site.name_any(), site.namespace().unwrap_or_default());
    let client = Client::clone(&client);
    let apply = PatchParams::apply("websites").force();

    let labels = json!({"website": name});
    let wanted = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "ownerReferences": [site.controller_owner_ref(&())]},
        "spec": {
            "replicas": site.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": site.spec.image}]},
            },
        },
    });
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let deployment = deployments
        .patch(&name, &apply, &Patch::Apply(wanted))
        .await?;

    let ready = deployment
        .status
        .and_then(|status| status.ready_replicas)
        .unwrap_or(0);
    let status =
        json!({"apiVersion": "example.com/v1", "kind": "Website", "status": {"ready": ready}});
    Api::<Website>::namespaced(client, &namespace)
        .patch_status(&name, &apply, &Patch::Apply(status))
        .await?;
    Ok(Action::await_change())
}

/// Runs the operator for the websites of a namespace, until the future is dropped.
pub async fn run(client: Client, namespace: &str) {
    let websites: Api<Website> = Api::namespaced(client.clone(), namespace);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    Controller::new(websites, watcher::Config::default())
        .owns(deployments, watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            Arc::new(client),
        )
        .for_each(|_| async {})
        .await
}
