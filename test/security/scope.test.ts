import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {names, samples} from '#test/apiserver/samples.js';
import {aDefinition, definitions, startCustom, widgets} from '#test/apiserver/custom.js';
import {startWire, words} from '#test/apiserver/wire.js';

test('no object is read or written through the path of another scope', async t => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const {server, send, post} = await startWire({clock, store});
  let objects = 0;
  for (const {kind, resource} of server.registry.served) {
    if (resource.definition.virtual || resource.definition.review || kind.kind === 'Namespace') continue;
    const group = words.group(kind.group);
    const root = `${group ? `/apis/${group}` : '/api'}/${kind.version}`;
    const [own, other] = kind.namespaced
      ? [`${root}/namespaces/default/${kind.plural}`, `${root}/${kind.plural}`]
      : [`${root}/${kind.plural}`, `${root}/namespaces/default/${kind.plural}`];
    const name = names[kind.kind]?.['one'] ?? 'one';
    const known = samples(words, name);
    const object = {metadata: {name}, ...(known[`${group}/${kind.kind}`] ?? known[kind.kind])};
    const made = await post(own, object);
    if (made.status === 201) objects++;
    const before = store.revision();

    for (const [method, url, body] of [
      ['POST', other, object],
      ['GET', `${other}/${name}`],
      ['PUT', `${other}/${name}`, object],
      ['PATCH', `${other}/${name}`, {metadata: {labels: {changed: 'yes'}}}],
      ['DELETE', `${other}/${name}`],
      ['PUT', `${other}/${name}/status`, object],
      // All objects of a namespaced kind may be listed at once; nothing else is requested of them so.
      ...(kind.namespaced ? [] : [['GET', other] as const]),
      ['DELETE', other],
    ] as const) {
      const {status, text} = await send(method, url, body ? {body} : {});
      t.true(status === 404 || status === 405, `${method} ${url} is answered with ${status} ${text.slice(0, 200)}`);
    }
    t.is(store.revision(), before, own);
  }
  t.true(objects > 40, `${objects} kinds have an object`);
});

test('no custom object is read or written through the path of another scope', async t => {
  for (const scope of ['Namespaced', 'Cluster']) {
    const {post, send, clock} = await startCustom();
    t.is((await post(definitions, aDefinition(undefined, {scope}))).status, 201);
    await clock.drain();
    const [inNamespace, inCluster] = [widgets, '/apis/example.com/v1/widgets'];
    const [right, wrong] = scope === 'Cluster' ? [inCluster, inNamespace] : [inNamespace, inCluster];
    const widget = {apiVersion: 'example.com/v1', kind: 'Widget', metadata: {name: 'w'}, spec: {}};
    t.is((await post(right, widget)).status, 201);

    for (const [method, url, body] of [
      ['POST', wrong, {...widget, metadata: {name: 'v'}}],
      ['GET', `${wrong}/w`],
      ['PUT', `${wrong}/w`, widget],
      ['PATCH', `${wrong}/w`, {metadata: {labels: {a: 'b'}}}],
      ['DELETE', `${wrong}/w`],
      ['DELETE', wrong],
      ...(scope === 'Cluster' ? [['GET', wrong] as const] : []),
    ] as const) {
      const {status} = await send(method, url, body ? {body} : {});
      t.true(status === 404 || status === 405, `${method} ${url}: ${status}`);
    }
    t.is((await send('GET', `${right}/w`)).json().metadata?.labels, undefined);
  }
});

test('a body that names another namespace than the path is refused', async t => {
  const {post, put, patch, send, get} = await startWire();
  await post('/api/v1/namespaces', {metadata: {name: 'other'}});
  const [here, there] = ['default', 'other'].map(namespace => `/api/v1/namespaces/${namespace}/configmaps`);
  await post(here!, {metadata: {name: 'a'}});
  const elsewhere = {metadata: {name: 'a', namespace: 'other'}, data: {x: 'y'}};

  t.is((await post(here!, elsewhere)).status, 400);
  t.is((await put(`${here}/a`, elsewhere)).status, 400);
  t.is((await patch(`${here}/a`, {metadata: {namespace: 'other'}})).status, 400);
  const applied = await send('PATCH', `${here}/a?fieldManager=m`, {
    body: {apiVersion: 'v1', kind: 'ConfigMap', ...elsewhere},
    headers: {'content-type': 'application/apply-patch+yaml'},
  });
  t.is(applied.status, 400);
  t.is((await get(`${there}/a`)).status, 404);
});

test('a permission for one name reaches no other object, whatever the field selector', async t => {
  const {get, post} = await startWire({
    authorizer: {
      authorize: ({user, resource}) => (user.name === 'admin' || resource?.name === 'a' ? {decision: 'allow'} : {decision: 'deny'}),
    },
  });
  const reader = {user: {name: 'reader', groups: []}};
  const secrets = '/api/v1/namespaces/default/secrets';
  for (const name of ['a', 'b']) await post(secrets, {metadata: {name}});
  const found = async (selector: string) => {
    const {status, json} = await get(`${secrets}?fieldSelector=${encodeURIComponent(selector)}`, reader);
    return status === 200 ? (json() as unknown as {items: {metadata: {name: string}}[]}).items.map(({metadata}) => metadata.name) : status;
  };

  t.deepEqual(await found('metadata.name=a'), ['a']);
  t.deepEqual(await found('metadata.name=a,type=Opaque'), ['a']);
  for (const selector of [
    'type!=x\\,metadata.name=a',
    'type!=x\\,metadata.name==a',
    'type!=\\\\\\,metadata.name=a',
    'metadata.name!=b',
    'metadata.name!=a',
    'metadata.namespace=default',
    '',
  ])
    t.is(await found(selector), 403, selector);
  // Both terms must hold.
  t.deepEqual(await found('metadata.name=a,metadata.name=b'), []);
  const twice = await get(`${secrets}?fieldSelector=metadata.name%3Da&fieldSelector=type%3DOpaque`, reader);
  t.deepEqual(
    (twice.json() as unknown as {items: {metadata: {name: string}}[]}).items.map(({metadata}) => metadata.name),
    ['a'],
  );
});
