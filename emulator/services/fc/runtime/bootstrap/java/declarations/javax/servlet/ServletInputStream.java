package javax.servlet;

import java.io.InputStream;

/** Declared for the compiler; the class itself is that of the function. */
public abstract class ServletInputStream extends InputStream {
    public abstract boolean isFinished();

    public abstract boolean isReady();

    public abstract void setReadListener(ReadListener listener);
}
