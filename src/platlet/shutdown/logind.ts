// The part of systemd that shuts the machine down (logind). It is asked, and heard, through the programs of systemd:
// its locks are open files that D-Bus hands over, which Node.js cannot receive.

import {join} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Host} from '#src/platlet/host/host.js';

/** Called by logind. */
export interface ShutdownListener {
  /** The machine is about to shut down, or is not any more. */
  prepares(isShuttingDown: boolean): void;
  /** Nothing is heard any more. */
  ended(message: string): void;
}

export interface Logind {
  /** Returns how long locks can delay a shutdown, in ms. */
  inhibitDelay(): Promise<number>;
  /** Configures that delay; it counts once the configuration is read again. */
  overrideInhibitDelay(ms: number): Promise<void>;
  reload(): Promise<void>;
  /** Delays shutdowns until the lock is disposed of. */
  inhibitShutdown(): Promise<Disposable>;
  watch(listener: ShutdownListener): Promise<Disposable>;
}

const login = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'] as const;
const systemd = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'] as const;
const hangup = '1';

const match = `type='signal',interface='${login[2]}',member='PrepareForShutdown',path='${login[1]}'`;
const watching = 'Monitoring bus message stream.';
/** A monitor that does not say that it listens does so after this time. */
const watchMs = 1_000;
/** The program that holds a lock says so, and ends with its input. */
const holder = ['sh', '-c', 'echo held; exec cat'];

const overrideFolder = '/etc/systemd/logind.conf.d';

export interface SystemLogindParts {
  readonly naming: Naming;
  readonly host: Pick<Host, 'execute' | 'follow' | 'makeFolder' | 'writeFile'>;
  readonly clock: Clock;
  readonly folder?: string;
}

/** The logind of the machine. */
export const systemLogind = ({naming: {agent}, host, clock, folder = overrideFolder}: SystemLogindParts): Logind => {
  const title = `${agent.charAt(0).toUpperCase()}${agent.slice(1)}`;
  const busctl = async (...args: readonly string[]): Promise<string> => {
    const finished = await host.execute('busctl', args);
    if (!finished) throw new Error('busctl is not installed');
    if (finished.exitCode !== 0) throw new Error(finished.output.trim() || `busctl: exit status ${finished.exitCode}`);
    return finished.output.trim();
  };
  return {
    async inhibitDelay() {
      const text = await busctl('get-property', ...login, 'InhibitDelayMaxUSec');
      const [, microseconds] = /^t (\d+)$/.exec(text) ?? [];
      if (microseconds === undefined) throw new Error(`InhibitDelayMaxUSec from logind is not a uint64 as expected: ${text}`);
      return Number(microseconds) / 1000;
    },
    async overrideInhibitDelay(ms) {
      await host.makeFolder(folder, 0o755);
      const text = `# ${title} logind override\n[Login]\nInhibitDelayMaxSec=${Math.round(ms / 1000)}\n`;
      await host.writeFile(join(folder, `99-${agent}.conf`), text, 0o644);
    },
    async reload() {
      await busctl('call', ...systemd, 'KillUnit', 'ssi', 'systemd-logind.service', 'all', hangup);
    },
    inhibitShutdown() {
      const why = `${title} needs time to handle node shutdown`;
      const args = ['--what=shutdown', `--who=${agent}`, `--why=${why}`, '--mode=delay', ...holder];
      return new Promise((resolve, reject) => {
        const lines: string[] = [];
        const held = host.follow('systemd-inhibit', args, {
          line(text) {
            lines.push(text);
            if (text === 'held') resolve(held);
          },
          ended: message => reject(new Error(`failed creating systemd inhibitor: ${[...lines, message].join(': ')}`)),
        });
      });
    },
    watch: listener =>
      new Promise((resolve, reject) => {
        let isWatching = false;
        const watches = (): void => {
          isWatching = true;
          timer[Symbol.dispose]();
          resolve(monitor);
        };
        const timer = clock.schedule(watchMs, watches);
        const monitor = host.follow('busctl', ['monitor', '--json=short', `--match=${match}`], {
          line(text) {
            if (text === watching) watches();
            const isShuttingDown = preparationIn(text);
            if (isShuttingDown !== undefined) listener.prepares(isShuttingDown);
          },
          ended(message) {
            timer[Symbol.dispose]();
            if (isWatching) listener.ended(message);
            else reject(new Error(`failed to monitor shutdown: ${message}`));
          },
        });
      }),
  };
};

/** Returns what a line of the monitor says about a shutdown; undefined if nothing. */
const preparationIn = (line: string): boolean | undefined => {
  try {
    const {payload} = JSON.parse(line) as {readonly payload?: {readonly data?: readonly unknown[]}};
    const [isShuttingDown] = payload?.data ?? [];
    return typeof isShuttingDown === 'boolean' ? isShuttingDown : undefined;
  } catch {
    return undefined;
  }
};
