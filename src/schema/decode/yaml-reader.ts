import type {Clock} from '#src/base/clock.js';
import {parseJson} from '#src/base/json/json.js';
import {labelledBody, parseBody, type ParsedBody} from './document.js';
import {DecodeError} from './error.js';
import {jsonInYaml} from './yaml.js';
import {YamlThread, type YamlLimits} from './yaml-thread.js';

/** Texts up to this many bytes are parsed on the event loop: YAML takes some microseconds a byte. */
const longestAtOnce = 8 * 1024;
/** Texts up to this many bytes do not wait for longer ones. */
const longestShort = 64 * 1024;

const usualLimits: YamlLimits = {megabytes: 256, ms: 15_000, waiting: 16};

/**
 * Parses YAML bodies: the shortest, and those that are JSON, synchronously; others in threads, so that other requests
 * are not delayed. There is one for short texts and one for long ones, in which flows take turns.
 */
export class YamlReader {
  readonly #short: YamlThread;
  readonly #long: YamlThread;

  constructor(clock: Clock, limits: YamlLimits = usualLimits) {
    this.#short = new YamlThread(clock, limits);
    this.#long = new YamlThread(clock, limits);
  }

  /**
   * Parses a body; `flow` is the user who sent it. Throws `DecodeError` for invalid YAML, 413 for a text that takes too
   * much time or memory, 429 while too many texts wait.
   */
  async parse(bytes: Buffer, {flow = '', signal}: {readonly flow?: string; readonly signal?: AbortSignal} = {}): Promise<ParsedBody> {
    if (bytes.length <= longestAtOnce) return parseBody(bytes, 'yaml');
    const text = bytes.toString('utf8');
    const json = jsonInYaml(text);
    if (json !== undefined) return labelledBody({value: json, problems: []}, text, 'yaml');
    const result = await (bytes.length <= longestShort ? this.#short : this.#long).read(text, flow, signal);
    if ('refusal' in result) throw new DecodeError(result.refusal);
    return labelledBody({value: parseJson(result.json), problems: result.problems}, text, 'yaml');
  }
}
