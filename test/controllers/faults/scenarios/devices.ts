import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {aClaim as aDeviceClaim, aClaimTemplate, allocation, aPodWithClaims, consumer} from '#test/controllers/device-claims.js';
import type {Scenario} from '#test/controllers/faults/harness.js';
import {home} from '#test/controllers/faults/stage.js';

const inHome = <T extends KubeObject>(object: T): T => ({...object, metadata: {...object.metadata, namespace: home}});

/** Scenarios of the controllers of devices and their claims. */
export const deviceScenarios: Readonly<Record<string, Scenario>> = {
  'device-taint-eviction': {
    args: ['--feature-gates=DRADeviceTaints=true,DRADeviceTaintRules=true'],
    gates: ['DRADeviceTaints', 'DRADeviceTaintRules'],
    steps: [
      async stage => {
        const of = {driver: 'driver.example.com', nodeName: 'n1', pool: {name: 'p', generation: 1, resourceSliceCount: 1}};
        await stage.make(kinds.resourceSlices, {metadata: {name: 's'}, spec: {...of, devices: [{name: 'd'}]}});
        await stage.make(kinds.resourceClaims, inHome(aDeviceClaim('shared')));
        const pods = ['p', 'q'].map(name => inHome(aPodWithClaims(name, {c: {claim: 'shared'}}, {nodeName: 'n1'})));
        await stage.make(kinds.pods, ...pods);
        const made = await Promise.all(pods.map(({metadata}) => stage.client.resource(kinds.pods).get(metadata!.name!, {namespace: home})));
        await stage.change(kinds.resourceClaims, 'shared', {status: {allocation, reservedFor: made.map(consumer)}}, 'status');
      },
      stage =>
        stage.make(kinds.deviceTaintRules, {
          metadata: {name: 'r'},
          spec: {deviceSelector: {pool: 'p'}, taint: {key: 'k', effect: 'NoExecute'}},
        }),
    ],
    touch: kinds.pods,
    compare: [kinds.pods],
  },
  resourceclaim: {
    steps: [
      async stage => {
        await stage.make(kinds.resourceClaimTemplates, inHome(aClaimTemplate()));
        await stage.make(
          kinds.resourceClaims,
          inHome(aDeviceClaim('shared', {finalizers: [stage.naming.subKey('resource', 'delete-protection')]})),
        );
        const shared = {claim: 'shared'};
        await stage.make(
          kinds.pods,
          inHome(aPodWithClaims('p', {made: {template: 'template'}, shared}, {nodeName: 'n1'})),
          inHome(aPodWithClaims('q', {shared})),
        );
      },
      stage => stage.change(kinds.resourceClaims, 'shared', {status: {allocation}}, 'status'),
      stage => stage.change(kinds.pods, 'p', {status: {phase: 'Succeeded'}}, 'status'),
      stage => stage.remove(kinds.pods, 'q', {gracePeriodSeconds: 0}),
      // A stop between deallocation and removal of the finalizer leaves the finalizer until then.
      stage => stage.remove(kinds.resourceClaims, 'shared'),
    ],
    touch: kinds.resourceClaims,
    blurred: ['resourceClaimName'],
    compare: [kinds.pods, kinds.resourceClaims],
  },
};
