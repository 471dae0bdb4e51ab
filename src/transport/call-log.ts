import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {currentSpan, inNewSpan, type Span} from '#src/base/span.js';
import {bodyText, headersText, urlText} from '#src/observe/body-text.js';

/** A request that goes out to another server. */
export interface SentCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<readonly [name: string, value: unknown]>;
  readonly body?: string | Uint8Array | undefined;
}

/** The loggable parts of a response. */
export interface CallResponse {
  readonly status?: number | string | undefined;
  readonly body?: string | Uint8Array | undefined;
}

/** What each verbosity adds: calls, headers, bodies, an equivalent command. */
const [calls, headers, bodies, commands] = [6, 7, 8, 9];
const maxVerbosity = 10;

/** Logs outgoing calls, without secrets, tokens and keys. `--vmodule=roundtrip=6` enables these lines alone. */
export class CallLog {
  readonly #log: Log;
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(log: Log, clock: Pick<Clock, 'monotonic'>) {
    this.#log = log.child({component: 'roundtrip'});
    this.#clock = clock;
  }

  /** Runs a call and logs it. The callbacks run only when the lines are logged. */
  run<A>(sent: () => SentCall, act: () => Promise<A>, answered: (answer: A) => CallResponse): Promise<A> {
    const log = this.#log.v(calls);
    const logged = () => (log === noLog ? act() : this.#logged(log, sent(), act, answered));
    const span = currentSpan();
    return span ? inNewSpan(clientSpan(span, sent()), logged) : logged();
  }

  async #logged<A>(
    log: Log,
    {method, url: target, headers: fields, body}: SentCall,
    act: () => Promise<A>,
    answered: (answer: A) => CallResponse,
  ): Promise<A> {
    const url = urlText(target);
    const verbosity = this.#verbosity();
    if (verbosity >= headers) this.#log.v(headers).info({method, url, headers: headersText(fields)}, 'request headers');
    if (verbosity >= bodies && body?.length) this.#log.v(bodies).info({method, url, body: bodyText(body, verbosity)}, 'request body');
    if (verbosity >= commands) this.#log.v(commands).info({command: command(method, url, fields)}, 'curl command');
    const startedAt = this.#clock.monotonic();
    const duration = () => `${Math.round(this.#clock.monotonic() - startedAt)}ms`;
    try {
      const answer = await act();
      const {status, body: content} = answered(answer);
      log.info({verb: method, url, status, duration: duration()}, 'Response');
      if (verbosity >= bodies && content?.length)
        this.#log.v(bodies).info({method, url, body: bodyText(content, verbosity)}, 'response body');
      return answer;
    } catch (error) {
      log.info({verb: method, url, duration: duration(), err: messageOf(error)}, 'no response');
      throw error;
    }
  }

  #verbosity(): number {
    for (let level = maxVerbosity; level > calls; level -= 1) if (this.#log.v(level) !== noLog) return level;
    return calls;
  }
}

/** The span of an outgoing call: of a procedure by its name, otherwise by the method. */
const clientSpan = (parent: Span, {method, url}: SentCall): Span => {
  const procedure = /^grpc:.*?([^/]+\/[^/]+)$/.exec(url)?.[1];
  if (procedure) return parent.child(procedure, {isClient: true, attributes: {'rpc.system': 'grpc', 'rpc.method': procedure}});
  return parent.child(`HTTP ${method}`, {isClient: true, attributes: {'http.request.method': method, 'url.full': urlText(url)}});
};

const command = (method: string, url: string, fields: SentCall['headers']): string =>
  [
    'curl',
    '-v',
    `-X${method}`,
    ...headersText(fields)
      .split('; ')
      .filter(Boolean)
      .map(field => `-H ${quoted(field)}`),
    quoted(url),
  ].join(' ');

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
