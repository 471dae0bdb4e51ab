import time

import pytest
from kubernetes.client import AppsV1Api, CoreV1Api, CustomObjectsApi
from kubernetes.client.exceptions import ApiException

pytestmark = pytest.mark.usefixtures('operator')


def create(namespace, image='shop:1', replicas=1):
    site = {'metadata': {'name': 'shop'}, 'spec': {'image': image, 'replicas': replicas}}
    site |= {'apiVersion': 'example.com/v1', 'kind': 'Website'}
    CustomObjectsApi().create_namespaced_custom_object('example.com', 'v1', namespace, 'websites', site)


def eventually(condition):
    """Returns the first value of the condition that holds."""
    deadline = time.monotonic() + 10
    while not (value := condition()):
        assert time.monotonic() < deadline, 'not so after 10 s'
        time.sleep(0.02)
    return value


def ready(namespace):
    site = CustomObjectsApi().get_namespaced_custom_object('example.com', 'v1', namespace, 'websites', 'shop')
    return site.get('status', {}).get('ready')


def deployment_uid(namespace):
    found = AppsV1Api().list_namespaced_deployment(namespace).items
    return found and found[0].metadata.uid


def waiting(namespace):
    pods = CoreV1Api().list_namespaced_pod(namespace).items
    states = [each.state.waiting for pod in pods for each in pod.status.container_statuses or []]
    return [waiting.reason for waiting in states if waiting]


def test_a_website_says_how_many_pods_are_ready(namespace):
    create(namespace, replicas=2)

    eventually(lambda: ready(namespace) == 2)


def test_a_deployment_that_somebody_deletes_is_back(namespace):
    create(namespace)
    first = eventually(lambda: deployment_uid(namespace))
    AppsV1Api().delete_namespaced_deployment('shop', namespace)

    eventually(lambda: deployment_uid(namespace) not in ([], first))


def test_a_pod_whose_image_is_missing_waits(namespace):
    create(namespace, image='shop:broken')

    eventually(lambda: 'ErrImagePull' in waiting(namespace))


def test_negative_replicas_are_refused(namespace):
    with pytest.raises(ApiException) as refusal:
        create(namespace, replicas=-1)

    assert refusal.value.status == 422
