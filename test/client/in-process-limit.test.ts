import test from 'ava';
import {bodyLimit} from '#src/api/request.js';
import {kinds} from '#src/api/kinds/index.js';
import {startServer} from '#test/fixtures/server.js';

/** A config map of `count` values of 64 KiB, which counts how often one is looked at. */
const large = (count: number) => {
  const looks = {count: 0};
  const data = new Proxy(Object.fromEntries(Array.from({length: count}, (_, at) => [`key-${at}`, 'x'.repeat(1 << 16)])), {
    get(target, key) {
      looks.count++;
      return Reflect.get(target, key) as unknown;
    },
  });
  return {looks, object: {metadata: {name: 'a', namespace: 'default'}, data}};
};

test('what is sent in process beyond the limit of bodies is refused as over the network, and not copied as a whole', async t => {
  const {clientOf} = startServer();
  const {looks, object} = large(2000);

  const error = await t.throwsAsync(clientOf().resource(kinds.configMaps).create(object));

  t.like(error, {
    status: {code: 413, reason: 'RequestEntityTooLarge', message: `Request entity too large: limit is ${bodyLimit}`},
  });
  t.true(looks.count <= 60, `${looks.count} of 2000 values were looked at`);
});

test('a text or a patch beyond the limit of bodies is refused in process', async t => {
  const {clientOf} = startServer();
  const maps = clientOf().resource(kinds.configMaps);

  for (const patch of [large(60).object, {data: {a: 'x'.repeat(bodyLimit)}}])
    t.like(await t.throwsAsync(maps.patch('a', 'merge', patch, {namespace: 'default'})), {status: {code: 413}});
});

test('what is sent in process within the limit of bodies is handled', async t => {
  const {clientOf} = startServer();
  const {object} = large(14);

  t.is(Object.keys((await clientOf().resource(kinds.configMaps).create(object)).data!).length, 14);
});
