// What a machine has, and what it lacks for which feature. Pure: what was found is given.

import {finding, missing, type Finding} from './finding.js';
import {nodeFindings, type NodeMachine} from './node-checks.js';

/** What was found on a machine. */
export interface Machine extends NodeMachine {
  readonly freeMemoryBytes: number;
  /** Why the addon of the embedded store cannot be loaded, if it cannot. */
  readonly storeProblem: string | undefined;
  readonly directory: string;
  /** Why files cannot be written durably in the directory, if they cannot. */
  readonly directoryProblem: string | undefined;
  /** Why the registry of planes cannot be written, if it cannot. */
  readonly homeProblem: string | undefined;
  readonly port: number;
  readonly portProblem: string | undefined;
}

const leastMemoryBytes = 256 << 20;

const megabytes = (bytes: number): string => `${Math.round(bytes / (1 << 20))} MB`;

const planeFindings = (machine: Machine): readonly Finding[] => [
  finding(
    'plat up',
    'embedded store',
    machine.storeProblem,
    'its addon loads',
    'Install the package again on this machine, with its optional dependencies: npm install --include=optional.',
  ),
  finding(
    'plat up',
    'data directory',
    machine.directoryProblem,
    `${machine.directory} takes durable writes`,
    'Give another --data-dir, or make it writable for this user.',
  ),
  finding(
    'plat up',
    'port',
    machine.portProblem,
    machine.port === 0 ? 'a free one is selected' : `${machine.port} is free`,
    'Stop what listens there ("plat ps" lists planes), or give another --secure-port; 0 selects a free one.',
  ),
  finding(
    'plat up',
    'memory',
    machine.freeMemoryBytes < leastMemoryBytes ? `${megabytes(machine.freeMemoryBytes)} are free` : undefined,
    `${megabytes(machine.freeMemoryBytes)} are free`,
    `A plane needs about ${megabytes(leastMemoryBytes)}: end other programs.`,
  ),
  finding(
    'planes by name',
    'PLAT_HOME',
    machine.homeProblem,
    'planes can be listed',
    'Set PLAT_HOME to a folder that this user can write; without one planes run, and "plat ps" does not list them.',
  ),
];

const clientFindings = ({programs}: Machine): readonly Finding[] => [
  finding(
    'kubectl',
    'kubectl',
    missing(programs, 'kubectl'),
    programs['kubectl'] ?? '',
    'Install kubectl, of 1.34 or newer; other clients do not need it.',
  ),
];

/** Returns what a machine has and lacks, by feature. */
export const findingsOf = (machine: Machine): readonly Finding[] => [
  ...planeFindings(machine),
  ...clientFindings(machine),
  ...nodeFindings(machine),
];

/** Whether `plat up` works on the machine. */
export const worksWithout = (findings: readonly Finding[]): boolean => findings.every(({feature, isOk}) => isOk || feature !== 'plat up');
