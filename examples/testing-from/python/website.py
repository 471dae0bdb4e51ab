"""A small operator: each Website has a Deployment, and says how many of its pods are ready."""

import os

import kopf
import kubernetes
from kubernetes.client.exceptions import ApiException


@kopf.on.startup()
def connect(**_):
    if 'KUBECONFIG' in os.environ:
        kubernetes.config.load_kube_config(os.environ['KUBECONFIG'])
    else:
        kubernetes.config.load_incluster_config()


@kopf.on.login()
def login(**arguments):
    return kopf.login_with_service_account(**arguments) or kopf.login_with_kubeconfig(**arguments)


@kopf.on.resume('websites')
@kopf.on.create('websites')
@kopf.on.update('websites', field='spec')
def keep_deployment(body, name, namespace, spec, **_):
    labels = {'website': name}
    pods = {'metadata': {'labels': labels}, 'spec': {'containers': [{'name': 'web', 'image': spec['image']}]}}
    deployment = {
        'apiVersion': 'apps/v1',
        'kind': 'Deployment',
        'metadata': {'name': name, 'labels': labels},
        'spec': {'replicas': spec['replicas'], 'selector': {'matchLabels': labels}, 'template': pods},
    }
    kopf.append_owner_reference(deployment, owner=body)
    kubernetes.dynamic.DynamicClient(kubernetes.client.ApiClient()).resources.get(
        api_version='apps/v1', kind='Deployment'
    ).server_side_apply(body=deployment, name=name, namespace=namespace, field_manager='websites', force_conflicts=True)


@kopf.on.event('apps', 'deployments', labels={'website': kopf.PRESENT})
def follow_deployment(event, name, namespace, status, **_):
    websites = kubernetes.client.CustomObjectsApi()
    where = ('example.com', 'v1', namespace, 'websites', name)
    try:
        if event['type'] == 'DELETED':
            site = websites.get_namespaced_custom_object(*where)
            keep_deployment(body=site, name=name, namespace=namespace, spec=site['spec'])
        else:
            patch = {'status': {'ready': status.get('readyReplicas', 0)}}
            websites.patch_namespaced_custom_object_status(*where, body=patch)
    except ApiException as error:
        if error.status != 404:  # The website is gone, or going.
            raise
