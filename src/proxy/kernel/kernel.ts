// The port to the kernel and the programs that change its rules. `system-kernel.ts` implements it; tests have one that
// keeps what it was told.

/** A program to run. It is found by its name. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** What it reads from standard input. */
  readonly input?: string;
  /** The most bytes of output that are read; a program that prints more is ended. */
  readonly maxBytes?: number;
}

/** How a program ended. */
export interface Finished {
  /** -1 if a signal ended it. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a proxy does to its machine. */
export interface ProxyKernel {
  /** Runs a program to its end. Rejects if it cannot be started, as without the program. */
  run(command: Command): Promise<Finished>;
  /** Reads a kernel parameter such as `net/ipv4/ip_forward`; undefined if the kernel has none of the name. */
  readSysctl(name: string): Promise<string | undefined>;
  writeSysctl(name: string, value: string): Promise<void>;
  /** The release of the kernel, such as `6.1.0-18-amd64`. */
  release(): string;
  /** The addresses of all interfaces that are up, without the lengths of their prefixes. */
  addresses(): readonly string[];
  /** Whether the kernel has addresses of IPv6. */
  hasIpv6(): Promise<boolean>;
}

/** A program that has failed, with what it said. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly finished: Finished;

  constructor({program, args}: Command, finished: Finished) {
    super(`${[program, ...args].join(' ')}: ${finished.stderr.trim() || `exit status ${finished.exitCode}`}`);
    this.finished = finished;
  }
}

/** Runs a program and returns its output. Rejects with `CommandError` if it fails. */
export const outputOf = async (kernel: Pick<ProxyKernel, 'run'>, command: Command): Promise<string> => {
  const finished = await kernel.run(command);
  if (finished.exitCode !== 0) throw new CommandError(command, finished);
  return finished.stdout;
};
