import type {ApiResponse} from '#src/api/request.js';

/** A refusal that is sent as plain text, not as a Status. */
export class PlainRefusal extends Error {
  override readonly name = 'PlainRefusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #end: string;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}, end = '\n') {
    super(message);
    this.#end = end;
    this.status = status;
    this.headers = headers;
  }

  response(): ApiResponse {
    return {
      status: this.status,
      headers: {...this.headers, 'X-Content-Type-Options': 'nosniff'},
      body: {kind: 'bytes', bytes: `${this.message}${this.#end}`, contentType: 'text/plain; charset=utf-8'},
    };
  }
}

const htmlSafe = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The 500 of a step before the handler that failed. Its text holds nothing that could be read as HTML. */
export const internalRefusal = (url: string, reason: string): PlainRefusal =>
  new PlainRefusal(500, htmlSafe(`Internal Server Error: ${JSON.stringify(url)}: ${reason}`));

/** The refusal of a request that cannot be parsed, before anything is known of it. */
export class MalformedRequest extends PlainRefusal {
  constructor() {
    super(400, '400 Bad Request', {Connection: 'close'}, '');
  }

  override response(): ApiResponse {
    return {...super.response(), headers: {...this.headers}};
  }
}

/** The refusal of a request above the limits, which the client may repeat after some seconds. */
export class TooManyRequests extends PlainRefusal {
  constructor(afterSeconds = 1) {
    super(429, 'Too many requests, please try again later.', {'Retry-After': String(afterSeconds)});
  }
}
