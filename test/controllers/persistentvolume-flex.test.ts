import {chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {flexAttacher} from '#controllers/persistentvolume-attach-detach/flex-attacher.js';
import {flexPlugins} from '#controllers/shared/volumes/flex.js';
import type {VolumeSpec} from '#controllers/shared/volumes/plugin.js';
import {naming as namingOf} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';

const signal = new AbortController().signal;
const waiting = {signal, pause: () => Promise.resolve(), released: <T>(wait: () => Promise<T>) => wait()};
const naming = namingOf('plat');
const spec: VolumeSpec = {name: 'v', source: {flexVolume: {driver: 'example.com/disk', fsType: 'ext4', options: {pool: 'a'}}}};

test('driver programs of third parties attach and detach the volumes of their driver', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-flex-'));
  t.teardown(() => rmSync(folder, {recursive: true, force: true}));
  const log = join(folder, 'log');
  const driver = (name: string, script: string) => {
    const own = join(folder, `example.com~${name}`);
    mkdirSync(own);
    writeFileSync(join(own, name), `#!/bin/sh\necho "$@" >> ${log}\n${script}`);
    chmodSync(join(own, name), 0o755);
  };
  driver(
    'disk',
    `case $1 in
init) echo '{"status": "Success", "capabilities": {"attach": true}}';;
attach) echo '{"status": "Success", "device": "/dev/x"}';;
isattached) echo '{"status": "Success", "attached": false}';;
detach) echo '{"status": "Failure", "message": "busy"}'; exit 1;;
esac`,
  );
  driver('share', `echo '{"status": "Success", "capabilities": {"attach": false}}'`);
  driver('broken', 'echo nothing');
  const attacher = (program: string) => flexAttacher(program, {naming, log: noLog, signal});
  const plugins = await flexPlugins({files: systemFiles, clock: systemClock, log: noLog, folder, attacher});
  const disk = plugins.find(({name}) => name === 'example.com/disk')!;

  t.deepEqual(
    plugins.map(({name, attacher: own}) => [name, own !== undefined]),
    [
      ['example.com/broken', false],
      ['example.com/disk', true],
      ['example.com/share', false],
    ],
  );
  t.deepEqual([disk.canSupport(spec), plugins[2]!.canSupport(spec)], [true, false]);
  t.is(await disk.attacher!.attach(spec, 'n', waiting), '/dev/x');
  t.deepEqual(await disk.attacher!.areAttached([spec], 'n'), [false]);
  await t.throwsAsync(disk.attacher!.detach(spec, 'n', waiting), {message: 'detach command failed, status: Failure, reason: busy'});
  t.true(
    readFileSync(log, 'utf8').includes(
      'attach {"plat.io/pvOrVolumeName":"v","plat.io/readwrite":"rw","plat.io/fsType":"ext4","pool":"a"} n\n',
    ),
  );
});

test('a folder of drivers that does not exist has none', async t => {
  t.deepEqual(await flexPlugins({files: systemFiles, clock: systemClock, log: noLog, folder: '/nowhere/at/all'}), []);
});
