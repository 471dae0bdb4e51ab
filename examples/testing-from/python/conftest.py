import json
import os
import subprocess

import kubernetes
import pytest
from kopf.testing import KopfRunner


@pytest.fixture(scope='session')
def plane(tmp_path_factory):
    """One plane for all tests, at a free port, with its data in a temporary directory."""
    folder = tmp_path_factory.mktemp('plane')
    command = [os.environ.get('PLAT', 'plat'), 'up', '-o', 'json', '--quiet', '--config=../plane.yaml', '--secure-port=0']
    environment = {**os.environ, 'PLAT_HOME': str(folder)}
    program = subprocess.Popen([*command, f'--data-dir={folder}'], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        ready = json.loads(program.stdout.readline() or '{}')
        assert ready, 'the plane did not start'
        os.environ['KUBECONFIG'] = ready['kubeconfig']
        kubernetes.config.load_kube_config(ready['kubeconfig'])
        yield ready
    finally:
        program.terminate()
        program.wait()


@pytest.fixture
def namespace(plane):
    """A namespace for one test."""
    core = kubernetes.client.CoreV1Api()
    name = core.create_namespace({'metadata': {'generateName': 'test-'}}).metadata.name
    yield name
    core.delete_namespace(name)


@pytest.fixture(scope='session')
def operator(plane):
    with KopfRunner(['run', '--all-namespaces', '--standalone', 'website.py']) as runner:
        yield
    assert runner.exit_code == 0, runner.output
