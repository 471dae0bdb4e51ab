import test from 'ava';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ImageGarbage, type ImageGarbageSettings} from '#src/platlet/image-garbage/garbage.js';
import type {Image} from '#src/platlet/runtime/images.js';
import {aRun, aRuntime} from '#test/platlet/pod/objects.js';

const image = (id: string, fields: Partial<Image> = {}): Image => ({
  id,
  tags: [`${id}:1`],
  digests: [],
  bytes: 100,
  isPinned: false,
  ...fields,
});

/** A node with images on a disk of 1000 bytes. */
const aNode = (settings: Partial<ImageGarbageSettings> = {}) => {
  const clock = new VirtualClock(1_000_000);
  const lifetime = new AbortController();
  const node = {
    clock,
    images: [] as Image[],
    used: [] as string[],
    mounted: [] as string[],
    handler: undefined as string | undefined,
    sandboxImage: undefined as string | undefined,
    failing: undefined as string | undefined,
    removed: [] as string[],
    events: [] as string[],
    totalBytes: 1000,
    availableBytes: 500,
    stop: () => lifetime.abort(),
  };
  const imageOf = (name: string) => ({image: `${name}:1`, ...(node.handler ? {handler: node.handler} : {})});
  const garbage = new ImageGarbage({
    clock,
    log: noLog,
    signal: lifetime.signal,
    observer: {},
    warn: (reason, message) => void node.events.push(`${reason}: ${message}`),
    host: {space: async () => ({totalBytes: node.totalBytes, availableBytes: node.availableBytes, inodes: 0, inodesFree: 0})},
    settings: {highPercent: 85, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0, ...settings},
    runtime: {
      images: async () => node.images,
      sandboxImage: async () => node.sandboxImage,
      pods: async () => [aRuntime(node.used.map(name => aRun(name, 0, {image: imageOf(name), imageRef: name})))],
      podStatus: async () =>
        aRuntime([aRun('app', 0, {mounts: node.mounted.map(name => ({containerPath: '/v', hostPath: '', image: name}))})]),
      imageFilesystems: async () => ({images: [{at: 0, mountpoint: '/images'}], containers: []}),
      async removeImage({image: id}) {
        if (id === node.failing) throw new Error(`no ${id}`);
        node.removed.push(id);
        node.images = node.images.filter(each => each.id !== id);
      },
    },
  });
  return {...node, node, garbage};
};

test('images stay while there is room', async t => {
  const {node, garbage, clock} = aNode();
  node.images = [image('a')];
  node.availableBytes = 160;
  await garbage.collect();
  await clock.advance(1);
  await garbage.collect();
  t.deepEqual(node.removed, []);
});

test('images that nothing uses go, those unused longest first, until enough is free', async t => {
  const {node, garbage, clock} = aNode();
  node.images = [image('a'), image('b'), image('used'), image('pinned', {isPinned: true})];
  node.used = ['a', 'used'];
  await garbage.collect();
  node.used = ['used'];
  await clock.advance(1_000);
  node.availableBytes = 100;
  await garbage.collect();
  t.deepEqual(node.removed, ['b']);
});

test('all images that nothing uses go at once, but that of sandboxes, and a failure says what was freed', async t => {
  const {node, garbage, clock, stop} = aNode({minAgeMs: 10_000});
  node.images = [image('a'), image('b'), image('used'), image('pause')];
  node.used = ['used'];
  node.sandboxImage = 'pause:1';
  garbage.start();
  await clock.advance(300_000);
  node.images.push(image('new'));
  node.failing = 'b';
  await t.throwsAsync(garbage.removeUnused(), {
    message: /^wanted to free \d+ bytes, but freed 100 bytes space with errors in image deletion: no b$/,
  });
  node.failing = undefined;
  await garbage.removeUnused();
  t.deepEqual(node.removed, ['a', 'b']);
  stop();
});

test('an image stays for a while after it has come', async t => {
  const {node, garbage, clock} = aNode({minAgeMs: 120_000});
  node.images = [image('a')];
  node.availableBytes = 100;
  const message =
    "Insufficient free disk space on the node's image filesystem (90% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 0 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.";
  await t.throwsAsync(garbage.collect(), {message});
  t.deepEqual(node.events, [`FreeDiskSpaceFailed: ${message}`]);
  await clock.advance(120_000);
  await garbage.collect();
  t.deepEqual(node.removed, ['a']);
});

test('images that are unused too long go although there is room', async t => {
  const {node, garbage, clock} = aNode({maxAgeMs: 60_000});
  node.images = [image('a'), image('used')];
  node.used = ['used'];
  await garbage.collect();
  await clock.advance(60_000);
  await garbage.collect();
  t.deepEqual(node.removed, []);
  await clock.advance(1);
  await garbage.collect();
  t.deepEqual(node.removed, ['a']);
});

test('a collection that fails twice in a row is an event of the node', async t => {
  const {node, garbage, clock, stop} = aNode();
  node.totalBytes = 0;
  garbage.start();
  await clock.advance(300_000);
  t.deepEqual(node.events, ['InvalidDiskCapacity: invalid capacity 0 on image filesystem']);
  await clock.advance(300_000);
  t.is(node.events.at(-1), 'ImageGCFailed: invalid capacity 0 on image filesystem');
  node.images = [image('small', {bytes: 1}), image('large', {bytes: 9})];
  await clock.advance(30_000);
  t.deepEqual(
    garbage.images.map(({id}) => id),
    ['large', 'small'],
  );
  stop();
});

test('images that are mounted as volumes are in use', async t => {
  for (const mountsImages of [true, false]) {
    const {node, garbage} = aNode({mountsImages});
    node.images = [image('a'), image('app')];
    node.used = ['app'];
    node.mounted = ['a'];
    await garbage.removeUnused();
    t.deepEqual(node.removed, mountsImages ? [] : ['a']);
  }
});

test('an image is in use for the runtime handler of its container alone, where they are kept apart', async t => {
  const {node, garbage, clock} = aNode({knowsHandlers: true});
  node.images = [image('a'), image('b', {handler: 'vm'}), image('c', {handler: 'other'})];
  node.used = ['a', 'b', 'c'];
  node.handler = 'vm';
  await garbage.removeUnused();
  await clock.advance(1);
  t.deepEqual(node.removed, ['a', 'c']);
});
