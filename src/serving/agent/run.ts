import {Writable} from 'node:stream';
import {AgentError, type ContainerAddress, type NodeAgent} from '#src/api/node/agent.js';
import type {ApiResponse} from '#src/api/request.js';
import {text} from '#src/serving/administration/route.js';
import type {HeldOutput, OutputBudget} from './output-budget.js';

/** The limit of a command's recorded output, in bytes. */
const maxOutputBytes = 16 << 20;

/** Collects the output of a command up to a limit. */
class Collected extends Writable {
  readonly #chunks: Buffer[] = [];
  readonly #held: HeldOutput;
  #left = maxOutputBytes;

  constructor(held: HeldOutput) {
    super();
    this.#held = held;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    const part = chunk.subarray(0, this.#left);
    try {
      this.#held.add(part.length);
    } catch (error) {
      return done(error as Error);
    }
    this.#left -= part.length;
    if (part.length > 0) this.#chunks.push(part);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

export interface RunRequest {
  readonly agent: NodeAgent;
  readonly of: ContainerAddress;
  readonly cmd: string;
  readonly signal: AbortSignal;
  readonly outputs: OutputBudget;
}

/** Runs a command to its end and responds with its output. Throws if it fails. */
export const runResponse = async ({agent, of, cmd, signal, outputs}: RunRequest): Promise<ApiResponse> => {
  using held = outputs.hold();
  const command = cmd.split(' ');
  const [stdout, stderr] = [new Collected(held), new Collected(held)];
  const failures: Error[] = [];
  for (const output of [stdout, stderr]) output.on('error', error => failures.push(error));
  const run = await agent.exec(of, command);
  const code = await run({stdout, stderr, tty: false}, signal);
  if (failures[0]) throw failures[0];
  if (code !== 0) throw new AgentError(500, `command '${command.join(' ')}' exited with ${code}: ${stderr.text}`);
  return text(stdout.text + stderr.text, 200, 'application/json');
};
