// The search of the site: a page finds the pages of its own language, and those first that have more of the words in one
// section. The theme's order alone buries the only page with a pasted message below pages that repeat one of its words.
//
// In a site that is opened as files, a browser starts no worker and loads no data. What a worker would run runs in a hidden
// frame then, by the same interface, and a request for data ends in an error before the browser reports one.
const isOwn = ({ location }) => location.startsWith("zh-CN/") === document.documentElement.lang.startsWith("zh");

class FrameWorker extends EventTarget {
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
}

const isFile = location.protocol === "file:";

const share = (page) =>
  Math.max(
    ...page.map(({ terms }) => {
      const found = Object.values(terms);
      return found.length > 2 ? found.filter(Boolean).length / found.length : 0;
    }),
  );

window.Worker = class extends (isFile ? FrameWorker : Worker) {
  constructor(...address) {
    super(...address);
    this.addEventListener("message", ({ data }) => data.data?.items?.sort((one, other) => share(other) - share(one)));
  }
  postMessage(message) {
    const index = message.data?.docs && { ...message.data, docs: message.data.docs.filter(isOwn) };
    super.postMessage(index ? { ...message, data: index } : message);
  }
};

if (isFile) {
  XMLHttpRequest.prototype.send = function () {
    queueMicrotask(() => this.dispatchEvent(new Event("error")));
  };
}
