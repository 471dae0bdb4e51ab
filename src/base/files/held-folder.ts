import {rmSync} from 'node:fs';

/** A temporary folder that is removed once all its holders have released it. */
export class HeldFolder {
  readonly path: string;
  #holders = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Keeps the folder until the result is disposed of. Throws once it was removed. */
  hold(): Disposable {
    if (this.#holders < 0) throw new Error(`the folder ${this.path} was removed`);
    this.#holders++;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        if (--this.#holders > 0) return;
        this.#holders = -1;
        rmSync(this.path, {recursive: true, force: true});
      },
    };
  }
}
