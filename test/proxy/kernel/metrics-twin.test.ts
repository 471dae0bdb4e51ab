// The names, types and texts of the proxy's metrics beside those of the original's program, in both modes.

import test from 'ava';
import {isInstalled} from '#test/node/requirements.js';
import {Machine, nodeIp, originalProgram, type Running} from './machine.js';
import {kernelMissing} from './world.js';

const missing = kernelMissing ?? (originalProgram === undefined ? "the original's program is not on the path" : undefined);

const objects = `apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {addresses: [{type: InternalIP, address: ${nodeIp}}]}\n`;

/** What the original counts without a program, and we by `nfacct`. */
const isCounter = (line: string): boolean => /_(?:ct_state_invalid_dropped|localhost_nodeports_accepted)_packets_total /.test(line);

/** The lines that say what metrics of the proxy are. */
const described = async (machine: Machine): Promise<readonly string[]> => {
  for (;;) {
    const [, text] = await machine.get('http://127.0.0.1:10249/metrics');
    const lines = text.split('\n').filter(line => /^# (?:HELP|TYPE) kubeproxy_/.test(line));
    if (lines.some(line => line.includes('sync_proxy_rules_last_timestamp_seconds')))
      return lines.filter(line => isInstalled('nfacct') || !isCounter(line)).sort();
  }
};

const shownBy = async (machine: Machine, program: Running): Promise<readonly string[]> => {
  try {
    // The first sync, after which all of them are there.
    await new Promise(resolve => setTimeout(resolve, 3000));
    return await described(machine);
  } finally {
    await program.stop();
  }
};

if (missing !== undefined) test(`metrics are not compared: ${missing}`, t => t.pass());
else
  for (const mode of ['nftables', 'iptables'])
    test.serial(`the metrics of the original in the mode ${mode} are there`, async t => {
      t.timeout(120_000);
      await using machine = await Machine.create(objects);
      const flags = [`--proxy-mode=${mode}`, '--cluster-cidr=10.244.0.0/16', '--conntrack-max-per-core=0'];
      const ours = await shownBy(machine, machine.proxy(...flags));
      const original = await shownBy(machine, machine.original(...flags));
      // Ours are shown also before there is anything to count.
      t.deepEqual(
        original.filter(line => !ours.includes(line)),
        [],
      );
      t.true(original.length > 10);
    });
