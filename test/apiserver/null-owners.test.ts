import test from 'ava';
import type {KubeObject} from '#src/api/types.js';
import {trackUpdate} from '#src/schema/apply/update.js';
import {Schemas} from '#src/schema/builtin/schemas.js';
import {entriesOf, startApply} from './applying.js';

const inDefault = (group: string, plural: string): string => `/apis/${group}/v1/namespaces/default/${plural}`;
const fieldsOf = (object: KubeObject): readonly object[] => entriesOf(object).map(({fieldsV1}) => fieldsV1);

test('a list that is always written is not owned by a creator that leaves it out', async t => {
  const {post} = await startApply();
  const claim = {apiVersion: 'resource.plat.io/v1', kind: 'ResourceClaim', metadata: {name: 'c'}, spec: {devices: {}}};
  const slice = {
    apiVersion: 'discovery.plat.io/v1',
    kind: 'EndpointSlice',
    metadata: {name: 's'},
    addressType: 'FQDN',
    endpoints: [{addresses: ['a.example']}],
  };
  const role = {apiVersion: 'rbac.authorization.plat.io/v1', kind: 'Role', metadata: {name: 'r'}};

  t.deepEqual(fieldsOf((await post(inDefault('resource.plat.io', 'resourceclaims'), claim)).json()), []);
  t.deepEqual(fieldsOf((await post(inDefault('discovery.plat.io', 'endpointslices'), slice)).json()), [
    {'f:addressType': {}, 'f:endpoints': {}},
  ]);
  t.deepEqual(fieldsOf((await post(inDefault('rbac.authorization.plat.io', 'roles'), {...role, rules: null})).json()), []);
});

test('a list that is always written is changed by removing its items, and kept when it is still null', async t => {
  const {post, put} = await startApply();
  const roles = inDefault('rbac.authorization.plat.io', 'roles');
  const role = {apiVersion: 'rbac.authorization.plat.io/v1', kind: 'Role', metadata: {name: 'r'}};
  await post(roles, {...role, rules: [{apiGroups: [''], resources: ['pods'], verbs: ['get']}]});
  const removed = (await put(`${roles}/r`, role)).json();
  const slices = inDefault('discovery.plat.io', 'endpointslices');
  const slice = {
    apiVersion: 'discovery.plat.io/v1',
    kind: 'EndpointSlice',
    metadata: {name: 's'},
    addressType: 'FQDN',
    endpoints: [{addresses: ['a.example']}],
  };
  await post(slices, {...slice, ports: []});
  const kept = (await put(`${slices}/s`, {...slice, endpoints: [], ports: null})).json();

  t.deepEqual(fieldsOf(removed), [{'f:rules': {}}]);
  t.deepEqual(fieldsOf(kept), [{'f:addressType': {}, 'f:endpoints': {}, 'f:ports': {}}]);
});

test('an object that replaces null owns its fields, not itself', t => {
  const node = new Schemas().of('authentication', 'v1', 'TokenRequest')!;
  const after = {spec: {boundObjectRef: {kind: 'Pod', name: 'p'}}};
  const versions = {schemaOf: () => node, convert: <T>(object: T): T => object};
  const writer = {manager: 'm', subresource: '', apiVersion: 'v1', time: undefined, writes: undefined, versions};

  t.deepEqual(trackUpdate({before: {}, after, node}, [], writer)[0]?.fieldsV1, {
    'f:spec': {'f:boundObjectRef': {'f:kind': {}, 'f:name': {}}},
  });
});

test('an object with a list item that lacks its key has no owners', async t => {
  const {post, put} = await startApply();
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const account = {apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name: 'a'}};
  t.is(fieldsOf((await post(accounts, {...account, secrets: [{name: 'x'}]})).json()).length, 1);

  t.deepEqual(fieldsOf((await put(`${accounts}/a`, {...account, secrets: [{}]})).json()), []);
});

test('an applier of a secret owns the texts it sends', async t => {
  const {apply} = await startApply();
  const secret = {apiVersion: 'v1', kind: 'Secret', metadata: {name: 's'}, stringData: {a: 'b'}, data: {c: 'ZA=='}};
  const applied = (await apply('/api/v1/namespaces/default/secrets/s', secret)).json<KubeObject & {data: object}>();

  t.deepEqual(applied.data, {a: 'Yg==', c: 'ZA=='});
  t.deepEqual(fieldsOf(applied), [{'f:data': {'f:c': {}}, 'f:stringData': {'f:a': {}}}]);
});
