import {jsonText} from '#src/base/json/json.js';
import {parentPort} from 'node:worker_threads';
import {DecodeError} from './error.js';
import {parseYaml} from './yaml.js';

/** The worker's response: the value as JSON, which is cheaper to receive than an object, or the error. */
export type YamlResult = {readonly json: string; readonly problems: ReturnType<typeof parseYaml>['problems']} | {readonly refusal: string};

const respond = (text: string): YamlResult => {
  try {
    const {value, problems} = parseYaml(text);
    return {json: jsonText(value), problems};
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return {refusal: error.message};
  }
};

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- It is a thread, not a window.
parentPort?.on('message', (text: string) => parentPort?.postMessage(respond(text)));
