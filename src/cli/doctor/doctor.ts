import type {doctorFlags} from '#src/options/programs/doctor.js';
import {defaultDataDir} from '#src/options/programs/up.js';
import type {Invocation} from '#src/program/program.js';
import {findingsOf, worksWithout} from './checks.js';
import type {Finding} from './finding.js';
import {lookAtMachine} from './machine.js';

/** `plat doctor`: says what this machine lacks for which feature. Returns 1 if `plat up` does not work. */
export const runDoctor = async ({parsed: {options}, print}: Invocation<(typeof doctorFlags)['rows']>): Promise<number> => {
  const machine = await lookAtMachine({
    dataDir: options.dataDir || defaultDataDir('kubernetes'),
    bindAddress: options.bindAddress,
    port: options.securePort,
    runtimeSocket: '/run/containerd/containerd.sock',
    networkFolder: '/etc/cni/net.d',
  });
  const findings = findingsOf(machine);
  const works = worksWithout(findings);
  if (options.output === 'json') print(JSON.stringify({works, findings}, undefined, 2));
  else for (const line of linesOf(findings, works)) print(line);
  return works ? 0 : 1;
};

const linesOf = (findings: readonly Finding[], works: boolean): readonly string[] => {
  const features = [...new Set(findings.map(({feature}) => feature))];
  const lines = features.flatMap(feature => [
    `${feature}:`,
    ...findings
      .filter(each => each.feature === feature)
      .flatMap(({check, isOk, found, advice}) => [
        `  ${isOk ? 'ok     ' : 'missing'} ${check}: ${found}`,
        ...(advice ? [`          ${advice}`] : []),
      ]),
  ]);
  return [...lines, works ? 'plat up works here.' : 'plat up does not work here yet.'];
};
