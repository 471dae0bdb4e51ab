import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Plane} from '#src/plane/plane.js';
import {aPlane} from './plane.js';

const controllers = ['serviceaccount-controller', 'namespace-controller'];
const accountsIn = async (plane: Plane, namespace: string) =>
  (await plane.client().resource(kinds.serviceAccounts).list({namespace})).items.map(({metadata}) => metadata?.name);

test('every namespace there is at the start gets its default account', async t => {
  await using plane = await aPlane({controllers});

  for (const namespace of ['default', plane.naming.systemNamespace, plane.naming.publicNamespace])
    t.true((await accountsIn(plane, namespace)).includes('default'), namespace);
});

test('a new namespace gets its default account, and gets it again when it is deleted', async t => {
  await using plane = await aPlane({controllers});
  const {clock} = plane;
  const accounts = plane.client().resource(kinds.serviceAccounts);
  await plane
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: 'new'}});
  await clock.drain();
  const {metadata} = await accounts.get('default', {namespace: 'new'});
  await accounts.delete('default', {namespace: 'new'});
  await clock.drain();

  const again = await accounts.get('default', {namespace: 'new'});
  t.not(again.metadata?.uid, metadata?.uid);
});

test('a namespace that ends gets no account back', async t => {
  await using plane = await aPlane({controllers});
  const {clock} = plane;
  const namespaces = plane.client().resource(kinds.namespaces);
  await namespaces.create({metadata: {name: 'ending'}, spec: {finalizers: ['example.com/hold']}});
  await clock.drain();
  await namespaces.delete('ending');
  await clock.advance(60_000);

  t.deepEqual(await accountsIn(plane, 'ending'), []);
});
