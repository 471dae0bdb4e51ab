import {join} from 'node:path';
import test from 'ava';
import {labelPluginFolder} from '#src/platlet/selinux/plugin-folders.js';
import {aPlaneForNodes} from '#test/platlet/agent.js';
import {aWholeAgent, memoryMachine} from '#test/platlet/flags/whole-agent.js';
import {recordingLog} from '#test/runtime/environment.js';

const label = 'system_u:object_r:container_file_t:s0';

test('the folders of plugins get the label of containers where SELinux is enabled', async t => {
  for (const isEnabled of [true, false]) {
    using host = memoryMachine();
    const labelled: string[] = [];
    host.isSelinuxEnabled = () => Promise.resolve(isEnabled);
    const {execute} = host;
    host.execute = async (program, args) => {
      if (program !== 'chcon') return execute(program, args);
      t.is(args[0], label);
      labelled.push(args[1]!);
      return {exitCode: 0, output: ''};
    };
    await using plane = await aPlaneForNodes();
    await using _agent = await aWholeAgent([], {plane, host});
    await plane.clock.advance(2_000);

    const names = ['device-plugins', 'plugins', 'plugins_registry'];
    t.deepEqual(labelled.sort(), isEnabled ? names.map(name => join(host.folders.root, name)) : []);
  }
});

test('a folder of plugins that cannot be labelled is logged', async t => {
  for (const [ended, message] of [
    [undefined, 'chcon is not installed'],
    [{exitCode: 1, output: "chcon: can't apply\n"}, "chcon: can't apply"],
  ] as const) {
    const {log, fields} = recordingLog();
    await labelPluginFolder({isSelinuxEnabled: async () => true, execute: async () => ended}, log, '/plugins');
    t.deepEqual(
      fields.map(({folder, err}) => [folder, (err as Error).message]),
      [['/plugins', message]],
    );
  }
});
