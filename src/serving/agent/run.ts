import {Writable} from 'node:stream';
import {AgentError, type ContainerAddress, type NodeAgent} from '#src/api/node/agent.js';
import type {ApiResponse} from '#src/api/request.js';
import {text} from '#src/serving/administration/route.js';

/** The limit of a command's recorded output, in bytes. */
const maxOutputBytes = 16 << 20;

/** Collects the output of a command up to a limit. */
class Collected extends Writable {
  readonly #chunks: Buffer[] = [];
  #left = maxOutputBytes;

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    const part = chunk.subarray(0, this.#left);
    this.#left -= part.length;
    if (part.length > 0) this.#chunks.push(part);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** Runs a command to its end and responds with its output. Throws if it fails. */
export const runResponse = async (agent: NodeAgent, of: ContainerAddress, cmd: string, signal: AbortSignal): Promise<ApiResponse> => {
  const command = cmd.split(' ');
  const [stdout, stderr] = [new Collected(), new Collected()];
  const code = await agent.exec(of, command)({stdout, stderr, tty: false}, signal);
  if (code !== 0) throw new AgentError(500, `command '${command.join(' ')}' exited with ${code}: ${stderr.text}`);
  return text(stdout.text + stderr.text, 200, 'application/json');
};
