import test from 'ava';
import {collectBuffersBy, countBuffer} from '#src/base/buffer-garbage.js';
import {roomForMany} from '#src/storage/embedded/layout.js';

test.serial('buffers that are made in one go are collected every 16 MiB', t => {
  let collections = 0;
  collectBuffersBy(() => void collections++);
  countBuffer(16 << 20); // With this what others made before is collected.
  collections = 0;
  for (let made = 0; made < 40; made++) countBuffer(1 << 20);

  t.is(collections, 2);
});

test.serial('values that are read for a list count with the slabs that hold them, which are nearly full', t => {
  let collections = 0;
  collectBuffersBy(() => void collections++);
  for (let chunk = 0; chunk < 256; chunk++) {
    const room = roomForMany();
    for (let value = 0; value < 188; value++) room(1400);
  }

  // 64 MiB of values.
  t.true(collections >= 4 && collections <= 5, String(collections));
});
