import test from 'ava';
import {installedIn, isOwnedBy, uninstalledIn, withDriver, withoutDriver} from '#src/platlet/csi/node-info.js';
import {planExpansion} from '#src/platlet/csi/claim-expansion.js';
import {highestVersion} from '#src/platlet/csi/versions.js';
import type {Claim} from '#src/model/volumes.js';
import {capabilityOf, groupPolicyOf, isGivenToGroup, type CsiDriver} from '#src/platlet/csi/volume.js';

const info = (fields = {}) => ({driver: 'd', nodeId: 'n', maxVolumes: 0, topology: {}, ...fields});

test('a driver is added to a CSINode, or changed there', t => {
  const own = {name: 'd', nodeID: 'n', topologyKeys: []};
  const other = {name: 'other', nodeID: 'o', topologyKeys: ['k']};
  for (const [before, added, after] of [
    [[], info(), [own]],
    [[own], info(), undefined],
    [[other], info({topology: {b: '1', a: '2'}}), [other, {...own, topologyKeys: ['a', 'b']}]],
    [[own, other], info({nodeId: 'new'}), [other, {...own, nodeID: 'new'}]],
    [[own], info({maxVolumes: 3}), [{...own, allocatable: {count: 3}}]],
    [[{...own, allocatable: {count: 3}}], info({maxVolumes: 3}), undefined],
    [[{...own, allocatable: {count: 3}}], info(), [own]],
    [[], info({maxVolumes: -1}), [own]],
    [[], info({maxVolumes: 2 ** 40}), [{...own, allocatable: {count: 2 ** 31 - 1}}]],
  ] as const)
    t.deepEqual(withDriver(before, added), after as never, JSON.stringify([before, added]));
  t.deepEqual(withoutDriver([own, other], 'd'), [other]);
  t.is(withoutDriver([other], 'd'), undefined);
});

test('the annotation of a Node has the ids of its drivers', t => {
  const node = (ids?: string, labels = {}) => ({metadata: {labels, annotations: ids === undefined ? {} : {key: ids}}});
  t.deepEqual(installedIn('key', node(), info()), {annotations: {key: '{"d":"n"}'}});
  t.deepEqual(installedIn('key', node('{"z":"1"}'), info()), {annotations: {key: '{"d":"n","z":"1"}'}});
  t.is(installedIn('key', node('{"d":"n"}'), info()), undefined);
  t.deepEqual(installedIn('key', node('{"d":"n"}'), info({topology: {zone: 'a'}})), {labels: {zone: 'a'}});
  t.is(installedIn('key', node('{"d":"n"}', {zone: 'a'}), info({topology: {zone: 'a'}})), undefined);
  t.throws(() => installedIn('key', node('{'), info()), {message: /^failed to parse node's "key" annotation value/});
  t.deepEqual(uninstalledIn('key', node('{"d":"n","z":"1"}'), 'd'), {annotations: {key: '{"z":"1"}'}});
  t.deepEqual(uninstalledIn('key', node('{"d":"n"}'), 'd'), {annotations: {key: null}});
  t.is(uninstalledIn('key', node('{"z":"1"}'), 'd'), undefined);
});

test('a CSINode belongs to the Node of its name and uid', t => {
  const node = {metadata: {name: 'n', uid: '1'}};
  const owned = (owner: object) =>
    isOwnedBy({metadata: {ownerReferences: [{kind: 'Node', name: 'n', uid: '1', apiVersion: 'v1', ...owner}]}, spec: {drivers: []}}, node);
  t.true(owned({}));
  t.false(owned({uid: '2'}));
  t.false(owned({kind: 'Pod'}));
});

test('drivers of version 1 are supported', t => {
  t.is(highestVersion(['1.0.0', 'v1.2.0', '0.3']).text, '1.2.0');
  t.throws(() => highestVersion(['0.3.0']), {message: 'highest supported version reported is 0.3.0, must be v1.x'});
  t.throws(() => highestVersion(['2.0.0']), {
    message: 'could not find a highest supported version from versions ([2.0.0]) reported: <nil>',
  });
  t.throws(() => highestVersion(['x']), {message: /could not parse "x"/});
});

test('access modes depend on whether the driver knows several writers on one node', t => {
  const mode = (accessMode: string, can: 'SINGLE_NODE_MULTI_WRITER'[] = []) =>
    capabilityOf({accessMode, isBlock: false, fsType: ''}, new Set(can), {options: []}).accessMode?.mode;
  t.deepEqual(
    ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod', 'Other'].map(each => [
      mode(each),
      mode(each, ['SINGLE_NODE_MULTI_WRITER']),
    ]),
    [
      ['SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
      ['MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
      ['MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
      ['SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
      ['UNKNOWN', 'UNKNOWN'],
    ],
  );
});

test('the policy of the driver and the volume decide whether files are given to the group of a pod', t => {
  const volume = {isReadonly: false, fsType: 'ext4', lifecycle: 'Persistent' as const, accessModes: ['ReadWriteOnce']};
  const usual = 'ReadWriteOnceWithFSType';
  for (const [fields, policy, is] of [
    [{}, usual, true],
    [{}, 'None', false],
    [{isReadonly: true}, 'File', false],
    [{fsType: ''}, usual, false],
    [{fsType: ''}, 'File', true],
    [{accessModes: ['ReadWriteMany']}, usual, false],
    [{accessModes: ['ReadWriteMany']}, 'File', true],
    [{accessModes: undefined}, usual, false],
    [{accessModes: undefined, lifecycle: 'Ephemeral'}, usual, true],
  ] as const)
    t.is(isGivenToGroup({...volume, ...fields}, policy), is, JSON.stringify([fields, policy]));
  t.is(groupPolicyOf(undefined), usual);
  t.is(groupPolicyOf({metadata: {}, spec: {fsGroupPolicy: 'File'}} as CsiDriver), 'File');
  t.throws(() => groupPolicyOf({metadata: {}, spec: {}} as CsiDriver), {message: /^expected valid fsGroupPolicy/});
});

test('what a node does for an expansion depends on what its claim records', t => {
  const claim = (status: object, spec = {}) => ({metadata: {}, spec: {resources: {requests: {storage: '2Gi'}}, ...spec}, status}) as Claim;
  const plan = (of: Claim, hasFailed = false) => {
    const {step, size, isShown, isRecorded, infeasibleOnFailure} = planExpansion({
      claim: of,
      volumeSize: '2Gi',
      hasFailed,
      notRequiredAnnotation: 'not-required',
    });
    return [step, size, [isShown && 'shown', isRecorded && 'recorded', infeasibleOnFailure && 'infeasible'].filter(Boolean).join(' ')];
  };
  const [one, two] = [{storage: '1Gi'}, {storage: '2Gi'}];
  const pending = (state: string) => ({capacity: one, allocatedResources: two, allocatedResourceStatuses: {storage: state}});
  const shared = {accessModes: ['ReadWriteMany']};
  t.deepEqual(plan(claim({capacity: one})), ['expand', '2Gi', '']);
  t.deepEqual(plan(claim({capacity: two})), ['expand', '2Gi', 'shown']);
  t.deepEqual(plan(claim(pending('NodeResizePending'))), ['expand', '2Gi', 'recorded']);
  t.deepEqual(plan(claim(pending('NodeResizeInProgress'))), ['expand', '2Gi', 'recorded']);
  t.deepEqual(plan(claim(pending('NodeResizeInfeasible'))), ['wait', '2Gi', 'recorded']);
  t.deepEqual(plan(claim(pending('ControllerResizeInProgress'))), ['wait', '2Gi', 'recorded']);
  t.deepEqual(plan(claim({capacity: one, allocatedResources: two})), ['wait', '2Gi', 'recorded']);
  t.deepEqual(plan(claim({capacity: two, allocatedResources: two})), ['done', '2Gi', 'shown recorded']);
  t.deepEqual(plan(claim({capacity: two, allocatedResources: two}, shared)), ['expand', '2Gi', 'shown recorded']);
  const annotated = claim({capacity: two, allocatedResources: two}, shared);
  annotated.metadata!.annotations = {'not-required': 'yes'};
  t.deepEqual(plan(annotated), ['done', '2Gi', 'shown recorded']);
  const wanted = {resources: {requests: {storage: '3Gi'}}};
  t.deepEqual(plan(claim(pending('NodeResizePending'), wanted), true), ['expand', '2Gi', 'recorded infeasible']);
  t.deepEqual(plan(claim(pending('NodeResizePending'), wanted)), ['expand', '2Gi', 'recorded']);
});
