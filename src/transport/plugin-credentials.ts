import type {Clock} from '#src/base/clock.js';
import {oneLine} from './one-line.js';
import type {CredentialSource, Proof} from './proof.js';

/** How long a plug-in's answer is used before it is asked again; it has a cache of its own that minds expiry. */
const answerAgeMs = 60_000;

interface Options {
  readonly clock: Clock;
  readonly source: string;
  readonly always: Proof['headers'];
}

/** Credentials of a user whom a plug-in proves (exec, OIDC). The library that runs plug-ins is loaded at the first request. */
export const pluginCredentials = (plugin: {readonly text: string; readonly context: string}, {clock, source, always}: Options): CredentialSource => {
  let runner: Promise<() => Promise<Proof>> | undefined;
  let answer: {readonly proof: Promise<Proof>; readonly at: number} | undefined;
  const ask = async (): Promise<Proof> => {
    try {
      const proof = await (await (runner ??= load(plugin)))();
      return {...proof, headers: [...proof.headers, ...always]};
    } catch (cause) {
      answer = undefined;
      runner = undefined;
      throw new Error(`${source}: getting credentials: ${oneLine(cause)}`, {cause});
    }
  };
  return {
    proof() {
      if (!answer || clock.monotonic() - answer.at > answerAgeMs) answer = {proof: ask(), at: clock.monotonic()};
      return answer.proof;
    },
    reset() {
      answer = undefined;
      runner = undefined;
    },
  };
};

const load = async ({text, context}: {readonly text: string; readonly context: string}): Promise<() => Promise<Proof>> => {
  const {KubeConfig} = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromString(text);
  config.setCurrentContext(context);
  return async () => {
    const options: Parameters<typeof config.applyToHTTPSOptions>[0] = {};
    await config.applyToHTTPSOptions(options);
    const authorization = new Headers(options.headers as Record<string, string>).get('authorization');
    const {cert, key} = options;
    return {
      headers: authorization ? [['authorization', authorization]] : [],
      ...(cert && key ? {pair: {cert: String(cert), key: String(key)}} : {}),
    };
  };
};
