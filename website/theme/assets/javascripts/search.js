// The search of a site that is opened as files. A browser starts no worker from a file, so what a worker would run runs in
// a hidden frame, by the same interface. Elsewhere this does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const base = new URL(address, document.baseURI);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inner = frame.contentWindow;
      const load = (name) =>
        new Promise((resolve, reject) => {
          const script = this.inner.document.createElement("script");
          Object.assign(script, { src: new URL(name, base), async: false, onload: resolve, onerror: reject });
          this.inner.document.head.append(script);
        });
      this.inner.importScripts = (...names) => Promise.all(names.map(load));
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(base);
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })));
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
}
