import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {formatClaimCheckpoint, parseClaimCheckpoint} from '#src/platlet/dra/checkpoint.js';
import type {ClaimState} from '#src/platlet/dra/claim-infos.js';
import {noteHealth} from '#src/platlet/dra/health-infos.js';
import type {ReportedHealth} from '#src/platlet/dra/messages.js';
import {containerCdiIds} from '#src/platlet/dra/pod-claims.js';
import {chosenService} from '#src/platlet/dra/versions.js';

const plat = naming('plat');

const claim: ClaimState = {
  uid: 'u1',
  name: 'claim',
  namespace: 'default',
  pods: new Set(['p1', 'p2']),
  drivers: new Map([
    [
      'driver.example',
      [
        {pool: 'pool', device: 'one', share: 's', requests: ['r1'], cdiIds: ['v/c=1', 'v/c=11']},
        {pool: 'pool', device: 'two', requests: ['r2'], cdiIds: ['v/c=2']},
        {pool: 'pool', device: 'three', requests: [], cdiIds: ['v/c=3']},
      ],
    ],
    ['other.example', []],
  ]),
};

test('the first version of a plugin that the agent supports is used', t => {
  t.is(chosenService(['v1.DRAPlugin', 'v1beta1.DRAPlugin'], plat), 'v1.DRAPlugin');
  t.is(chosenService(['v2.DRAPlugin', 'v1beta1.DRAPlugin'], plat), 'v1beta1.DRAPlugin');
  t.throws(() => chosenService([], plat), {message: 'empty list of supported gRPC services (aka supported versions)'});
  t.throws(() => chosenService(['v1alpha4.Node', '1.0.0'], plat), {
    message:
      'none of services supported by the plugin (["v1alpha4.Node" "1.0.0"]) are supported by the platlet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
  });
});

test('the checkpoint has the form of the original, and a damaged one is refused', t => {
  const text = formatClaimCheckpoint([claim]);
  const {Data: data} = JSON.parse(text) as {Data: string};
  t.is(
    data,
    '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[{"ClaimUID":"u1","ClaimName":"claim","Namespace":"default","PodUIDs":{"p1":{},"p2":{}},"DriverState":{"driver.example":{"Devices":[{"PoolName":"pool","DeviceName":"one","ShareID":"s","RequestNames":["r1"],"CDIDeviceIDs":["v/c=1","v/c=11"]},{"PoolName":"pool","DeviceName":"two","ShareID":null,"RequestNames":["r2"],"CDIDeviceIDs":["v/c=2"]},{"PoolName":"pool","DeviceName":"three","ShareID":null,"RequestNames":null,"CDIDeviceIDs":["v/c=3"]}]},"other.example":{"Devices":null}}}]}',
  );
  t.deepEqual(parseClaimCheckpoint(text), [claim]);
  t.throws(() => parseClaimCheckpoint(text.replace('p1', 'p3')), {message: 'checkpoint is corrupted'});
  // Written by the original.
  t.deepEqual(
    parseClaimCheckpoint(
      '{"Data":"{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v1\\",\\"ClaimInfoStateList\\":[{\\"ClaimUID\\":\\"067798be-454e-4be4-9047-1aa06aea63f7\\",\\"ClaimName\\":\\"example\\",\\"Namespace\\":\\"default\\",\\"PodUIDs\\":{\\"139cdb46-f989-4f17-9561-ca10cfb509a6\\":{}},\\"DriverState\\":{\\"test-driver.cdi.k8s.io\\":{\\"Devices\\":[{\\"PoolName\\":\\"worker-1\\",\\"DeviceName\\":\\"dev-1\\",\\"ShareID\\":null,\\"RequestNames\\":[\\"test request\\"],\\"CDIDeviceIDs\\":[\\"example.com/example=cdi-example\\"]}]}}}]}","Checksum":2570581864}',
    ).map(({name}) => name),
    ['example'],
  );
});

/** The devices of a container of a pod with two entries for the claim. */
const cdiIds = (claims: readonly {name: string; request?: string}[], requests: Record<string, string> = {}): string => {
  const container = {name: 'app', resources: {claims: [...claims], requests}};
  const mappings = [{containerName: 'app', resourceName: 'example.com/gpu', requestName: 'r1'}];
  const pod: Pod = {
    metadata: {name: 'pod', namespace: 'default'},
    spec: {
      containers: [container],
      resourceClaims: [
        {name: 'own', resourceClaimName: 'claim'},
        {name: 'made', resourceClaimTemplateName: 'template'},
        {name: 'missing', resourceClaimName: 'missing'},
      ],
    },
    status: {
      resourceClaimStatuses: [{name: 'made'}],
      extendedResourceClaimStatus: {resourceClaimName: 'claim', requestMappings: mappings},
    },
  };
  const get = (name: string) => (name === claim.name ? claim : undefined);
  return containerCdiIds(pod, container, {naming: plat, extendedResources: true, get}).join();
};

test('a container gets the devices of the claims and requests that it names, and those of its extended resources', t => {
  t.is(cdiIds([]), '');
  t.is(cdiIds([{name: 'own'}]), 'v/c=1,v/c=11,v/c=2,v/c=3');
  t.is(cdiIds([{name: 'own', request: 'r2'}]), 'v/c=2,v/c=3');
  t.is(cdiIds([{name: 'made'}]), '');
  t.is(cdiIds([], {'example.com/gpu': '1', cpu: '1'}), 'v/c=1,v/c=11,v/c=3');
  t.is(cdiIds([], {'example.com/gpu': '0'}), '');
  t.throws(() => cdiIds([{name: 'missing'}]), {message: 'internal error: unable to get claim info for ResourceClaim missing'});
});

const reported = (device: string, health: ReportedHealth['health'], timeoutSeconds = 0): ReportedHealth => ({
  device: {poolName: 'pool', deviceName: device},
  health,
  lastUpdatedSeconds: 0,
  timeoutSeconds,
});

test('a device whose health or time limit is another has changed, and one that is not told of for longer than that', t => {
  const devices: Parameters<typeof noteHealth>[0] = new Map();
  const changes = (now: number, ...all: readonly ReportedHealth[]): string =>
    noteHealth(devices, all, now)
      .map(({device}) => `${device} ${devices.get(`pool/${device}`)?.health}`)
      .join();
  t.is(changes(0, reported('a', 'Healthy'), reported('b', 'Healthy', 60)), 'a Healthy,b Healthy');
  t.is(changes(10_000, reported('a', 'Healthy')), '');
  t.is(changes(11_000, reported('a', 'Healthy', 5)), 'a Healthy');
  t.is(changes(12_000, reported('a', 'Unhealthy', 5)), 'a Unhealthy');
  t.is(changes(17_000), '');
  t.is(changes(17_001), 'a Unknown');
  t.is(changes(60_000), '');
  t.is(changes(60_001), 'b Unknown');
});
