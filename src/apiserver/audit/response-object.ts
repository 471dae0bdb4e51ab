// The object of a response as its audit event contains it: one line of JSON, whatever form the client receives. Bytes
// that exist are taken as they are; long objects are encoded in steps.

import type {ApiResponse, PagedBody} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {withoutManagedFields} from './managed-fields.js';

/** The longest object of a response that an event contains, in bytes. Differs from upstream, where it has no bound. */
export const maxObjectBytes = 16 << 20;

export interface ObjectForm {
  readonly omitsManagedFields: boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

const newline = 0x0a;
const json = 'application/json';

/** One line of JSON; undefined for text that is indented. */
const oneLine = (bytes: Buffer): Buffer | undefined => {
  const line = bytes.at(-1) === newline ? bytes.subarray(0, -1) : bytes;
  return line.includes(newline) ? undefined : line;
};

const inForm = ({omitsManagedFields}: ObjectForm, bytes: Buffer): Steps<Buffer> | undefined =>
  omitsManagedFields ? withoutManagedFields(bytes) : undefined;

const finished = (form: ObjectForm, bytes: Buffer): Buffer | Promise<Buffer> => {
  const steps = inForm(form, bytes);
  return steps ? runStepsYielding(steps, new Yielder(form.clock)) : bytes;
};

type ObjectBody = Extract<ApiResponse['body'], {kind: 'object'}>;

const encoded = async (body: ObjectBody, form: ObjectForm): Promise<Buffer> => {
  const object = (await body.inPieces?.()) ?? body.object();
  return finished(form, await runStepsYielding(encodedInSteps(object), new Yielder(form.clock)));
};

/** A body and its object. */
export interface Captured {
  readonly body: ApiResponse['body'];
  readonly object: Buffer | undefined;
}

/** Returns the object of a response that is no list in pages, and the body to send, which is not encoded again. */
export const capture = async (body: ApiResponse['body'], form: ObjectForm, takesObjects: boolean): Promise<Captured> => {
  if (body.kind === 'bytes') {
    const line = body.contentType === json ? oneLine(Buffer.from(body.bytes)) : undefined;
    return {body, object: line && (await finished(form, line))};
  }
  if (body.kind !== 'object') return {body, object: undefined};
  if (takesObjects || body.contentType !== json) return {body, object: await encoded(body, form)};
  const bytes = body.bytes();
  const line = oneLine(bytes);
  return {
    body: {...body, bytes: () => bytes, object: () => body.object()},
    object: line ? await finished(form, line) : await encoded(body, form),
  };
};

/** Gathers pages of JSON up to the bound. */
export class GatheredPages {
  readonly #form: ObjectForm;
  #pages: Buffer[] = [];
  #bytes = 0;
  isTooLong = false;

  constructor(form: ObjectForm) {
    this.#form = form;
  }

  add(page: Buffer): void {
    this.#bytes += page.length;
    this.isTooLong ||= this.#bytes > maxObjectBytes;
    if (this.isTooLong) this.#pages = [];
    else this.#pages.push(page);
  }

  /** The whole object; undefined if it is too long. */
  async object(): Promise<Buffer | undefined> {
    if (this.isTooLong) return undefined;
    const line = oneLine(Buffer.concat(this.#pages));
    return line && finished(this.#form, line);
  }
}

/** Reads a list in pages as JSON, up to the bound. */
export const gathered = async (body: PagedBody, form: ObjectForm): Promise<GatheredPages> => {
  const pages = new GatheredPages(form);
  const source = body.asJson?.();
  if (!source) return pages;
  try {
    for (let page = await source.next(); page !== undefined && !pages.isTooLong; page = await source.next()) pages.add(page);
  } finally {
    source.close();
  }
  return pages;
};
